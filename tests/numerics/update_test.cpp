#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "numerics/device.h"
#include "numerics/with_isa.h"

namespace lockstep::numerics {
namespace {

constexpr AdamW kAdamW = {.beta1 = 0.9f,
                          .one_minus_beta1 = 0.1f,
                          .beta2 = 0.999f,
                          .one_minus_beta2 = 0.001f,
                          .eps = 1e-8f,
                          .step_size = 2e-4f,
                          .inv_sqrt_bias2 = 3.2f,
                          .decay = 0.9999f};
constexpr Sgd kSgd = {.lr = 0.1f, .momentum = 0.9f, .weight_decay = 1e-4f};
constexpr Sgd kNesterov = {.lr = 0.1f, .momentum = 0.9f, .weight_decay = 1e-4f, .nesterov = true};
constexpr Lion kLion = {.beta1 = 0.9f,
                        .one_minus_beta1 = 0.1f,
                        .beta2 = 0.99f,
                        .one_minus_beta2 = 0.01f,
                        .lr = 3e-4f,
                        .decay = 3e-5f};
constexpr float kRates[] = {0.01f, 0.3f};  // of two averages

using Floats = std::vector<float>;
using Leaves = std::vector<hash::Leaf>;

// A tensor with all that is kept of it: p, slots, averages.
struct Kept {
  Floats g;
  std::vector<Floats> arrays;
  std::size_t slots = 0;

  std::size_t averages() const { return arrays.size() - 1 - slots; }
};

// What the header says, an element at a time.
struct Written {
  Kept& t;
  std::size_t i;
  float g = t.g[i];
  float& p = t.arrays[0][i];

  float& slot(std::size_t s) const { return t.arrays[1 + s][i]; }
  void operator()(const Keep&) const {}
  void operator()(const AdamW& s) const {
    float &m = slot(0), &v = slot(1);
    m = std::fma(s.beta1, m, s.one_minus_beta1 * g);
    v = std::fma(s.beta2, v, s.one_minus_beta2 * (g * g));
    const float d = std::sqrt(v) * s.inv_sqrt_bias2 + s.eps;
    p = p * s.decay;
    p = p - s.step_size * (m / d);
  }
  void operator()(const Sgd& s) const {
    float& u = slot(0);
    const float decayed = std::fma(s.weight_decay, p, g);
    u = std::fma(s.momentum, u, decayed);
    p = std::fma(-s.lr, s.nesterov ? std::fma(s.momentum, u, decayed) : u, p);
  }
  void operator()(const Lion& s) const {
    float& m = slot(0);
    const float u = std::fma(s.beta1, m, s.one_minus_beta1 * g);
    const float sign = u > 0 ? 1.0F : u < 0 ? -1.0F : 0.0F;
    p = std::fma(-s.lr, sign, std::fma(-s.decay, p, p));
    m = std::fma(s.beta2, m, s.one_minus_beta2 * g);
  }
};

Kept by_definition(const UpdateRule& rule, Kept t) {
  for (std::size_t i = 0; i < t.g.size(); ++i) {
    std::visit(Written{t, i}, rule);
    for (std::size_t a = 0; a < t.averages(); ++a) {
      float& e = t.arrays[1 + t.slots + a][i];
      e = std::fma(kRates[a], t.arrays[0][i] - e, e);
    }
  }
  return t;
}

Leaves leaves_of(const Floats& values) {
  const ByteView bytes = std::as_bytes(std::span(values));
  Leaves leaves(hash::leaf_count(bytes.size()));
  hash::leaf_hashes(bytes, leaves);
  return leaves;
}

// What an update of several tensors made of them, and the leaves that it took of each array.
struct Result {
  std::vector<Kept> tensors;
  std::vector<std::vector<Leaves>> before, after;
  bool finite = false;
};

// Leaves are asked for where `asks(tensor, array)` says. Arrays begin so many floats behind where
// memory does.
template <class Asks>
Result updated(const UpdateRule& rule, const std::vector<Kept>& tensors, const Asks& asks,
               std::size_t behind = 0) {
  Result result{tensors, {}, {}, false};
  std::vector<UpdatedTensor> all;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    Kept& kept = result.tensors[k];
    const auto begin_later = [&](Floats& values) { values.insert(values.begin(), behind, 0.0F); };
    begin_later(kept.g);
    std::ranges::for_each(kept.arrays, begin_later);
    const std::size_t n = kept.g.size() - behind, tiles = hash::leaf_count(4 * n);
    result.before.emplace_back(kept.arrays.size(), Leaves(tiles));
    result.after.emplace_back(kept.arrays.size(), Leaves(tiles));
    UpdatedTensor& one = all.emplace_back();
    one.n = static_cast<std::int64_t>(n);
    one.g = kept.g.data() + behind;
    for (std::size_t a = 0; a < kept.arrays.size(); ++a) {
      const Updated array{kept.arrays[a].data() + behind,
                          asks(k, a) ? result.before[k][a].data() : nullptr,
                          asks(k, a) ? result.after[k][a].data() : nullptr};
      if (a == 0) {
        one.p = array;
      } else if (a <= kept.slots) {
        one.slots.push_back(array);
      } else {
        one.averages.push_back({array, kRates[a - 1 - kept.slots]});
      }
    }
  }
  result.finite = device().update(rule, all)->finish();
  for (Kept& kept : result.tensors) {
    for (Floats& values : kept.arrays)
      values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(behind));
  }
  return result;
}

template <class Body>
void with_every_isa_and_thread_count(Body&& body) {
  with_every_isa([&] {
    for (const int count : {1, 2, 7}) {
      use_threads(count);
      body();
      use_threads(1);
    }
  });
}

// Numbers of many sizes; a third are zeros of either sign, which meet often. AdamW's second moment
// is not negative.
Kept some_tensor(std::mt19937& engine, const UpdateRule& rule, std::size_t n,
                 std::size_t averages) {
  const auto draw = [&](bool positive) {
    Floats values(n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto whole = static_cast<std::int32_t>(engine());
      const float x = std::ldexp(static_cast<float>(whole), -static_cast<int>(engine() % 61));
      values[i] = engine() % 3 == 0 ? (whole < 0 ? -0.0F : 0.0F) : x;
      if (positive) values[i] = std::fabs(values[i]);
    }
    return values;
  };
  Kept kept;
  if (!std::holds_alternative<Keep>(rule)) kept.slots = 1;
  if (std::holds_alternative<AdamW>(rule)) kept.slots = 2;
  kept.g = draw(false);
  for (std::size_t a = 0; a < 1 + kept.slots + averages; ++a)
    kept.arrays.push_back(draw(a == 2 && kept.slots == 2));
  return kept;
}

class Update : public testing::TestWithParam<UpdateRule> {};
INSTANTIATE_TEST_SUITE_P(Rules, Update, testing::Values(Keep{}, kAdamW, kSgd, kNesterov, kLion));

void expect_by_definition(const UpdateRule& rule, const std::vector<Kept>& tensors,
                          std::size_t behind = 0) {
  std::vector<Kept> expected;
  for (const Kept& kept : tensors) expected.push_back(by_definition(rule, kept));
  with_every_isa_and_thread_count([&] {
    const auto asks = [](std::size_t, std::size_t) { return true; };
    const Result result = updated(rule, tensors, asks, behind);
    ASSERT_TRUE(result.finite);
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      for (std::size_t a = 0; a < tensors[k].arrays.size(); ++a) {
        const auto where = [&] { return std::to_string(k) + ", array " + std::to_string(a); };
        ASSERT_EQ(first_difference(result.tensors[k].arrays[a], expected[k].arrays[a]), -1)
            << where();
        ASSERT_EQ(result.before[k][a], leaves_of(tensors[k].arrays[a])) << where();
        ASSERT_EQ(result.after[k][a], leaves_of(expected[k].arrays[a])) << where();
      }
    }
  });
}

TEST_P(Update, IsTheWrittenSequenceWithTheLeavesOfBeforeAndAfter) {
  std::mt19937 engine(1);
  for (const std::size_t n : {0, 1, 15, 16, 17, 511, 512, 513, 4095, 4096, 4097, 20'001}) {
    for (const std::size_t averages : {0, 1, 2})
      expect_by_definition(GetParam(), {some_tensor(engine, GetParam(), n, averages)});
  }
}

TEST_P(Update, OfManySmallTensorsIsThatOfEach) {
  std::mt19937 engine(2);
  std::vector<Kept> tensors;
  for (std::size_t i = 0; i < 150; ++i)
    tensors.push_back(some_tensor(engine, GetParam(), i % 50 == 0 ? 9000 : engine() % 70, i % 3));
  expect_by_definition(GetParam(), tensors);
  expect_by_definition(GetParam(), {});
}

// Parts of a divided optimiser begin anywhere in their tensors.
TEST_P(Update, MayBeginAnywhere) {
  std::mt19937 engine(5);
  for (const std::size_t behind : {1, 2, 3}) {
    for (const std::size_t n : {3, 17, 4098})
      expect_by_definition(GetParam(), {some_tensor(engine, GetParam(), n, 1)}, behind);
  }
}

TEST_P(Update, TakesNoLeavesUnasked) {
  std::mt19937 engine(3);
  const std::vector<Kept> tensors = {some_tensor(engine, GetParam(), 5000, 1),
                                     some_tensor(engine, GetParam(), 100, 1)};
  const auto asks = [](std::size_t k, std::size_t a) { return (k + a) % 2 == 0; };
  const Result result = updated(GetParam(), tensors, asks);
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const Kept expected = by_definition(GetParam(), tensors[k]);
    for (std::size_t a = 0; a < tensors[k].arrays.size(); ++a) {
      const Leaves none(result.before[k][a].size());
      EXPECT_EQ(first_difference(result.tensors[k].arrays[a], expected.arrays[a]), -1);
      EXPECT_EQ(result.before[k][a], asks(k, a) ? leaves_of(tensors[k].arrays[a]) : none);
      EXPECT_EQ(result.after[k][a], asks(k, a) ? leaves_of(expected.arrays[a]) : none);
    }
  }
}

TEST_P(Update, TellsOfAValueThatIsNotFinite) {
  std::mt19937 engine(4);
  const std::vector<Kept> tensors = {some_tensor(engine, GetParam(), 5000, 1),
                                     some_tensor(engine, GetParam(), 100, 2)};
  const auto asks = [](std::size_t, std::size_t) { return false; };
  with_every_isa_and_thread_count([&] {
    for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
      for (std::size_t k = 0; k < tensors.size(); ++k) {
        for (std::size_t a = 0; a < tensors[k].arrays.size(); ++a) {
          std::vector<Kept> broken = tensors;
          broken[k].arrays[a].back() = bad;
          EXPECT_FALSE(updated(GetParam(), broken, asks).finite) << k << " " << a;
          std::ranges::fill(broken[k].arrays[a], bad);
          EXPECT_FALSE(updated(GetParam(), broken, asks).finite) << k << " " << a;
        }
      }
    }
  });
}

}  // namespace
}  // namespace lockstep::numerics
