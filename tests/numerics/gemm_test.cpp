#include <gtest/gtest.h>

#include "numerics/device.h"
#include "numerics/matrix_testing.h"

namespace lockstep::numerics {
namespace {
using namespace testing;

struct Case {
  std::int64_t batch, m, n, depth;
  bool transpose_a, transpose_b, shared_b, in_turns;
  Floats a, b, bias;

  Operand left() const {
    return transpose_a ? Operand{a.data(), 1, m, m * depth}
                       : Operand{a.data(), depth, 1, m * depth};
  }
  Operand right() const {
    const std::int64_t step = shared_b ? 0 : depth * n;
    return transpose_b ? Operand{b.data(), 1, depth, step} : Operand{b.data(), n, 1, step};
  }
  // Matrices one after another, or the same in two batches, one matrix of each at a time.
  Batch all() const { return in_turns ? Batch(batch / 2, 2) : Batch(batch); }
  template <class T>
  T of_all(T x) const {
    if (!in_turns) return x;
    x.outer = x.batch;
    x.batch *= 2;
    return x;
  }
  const float* bias_or_null() const { return bias.empty() ? nullptr : bias.data(); }
};

Case random_case() {
  Case c{};
  c.depth = *rc::gen::element<std::int64_t>(0, 1, 2, draw(3, 70), draw(3, 70), kBlock - 1, kBlock,
                                            kBlock + 1, draw(kBlock, 3 * kBlock));
  const bool deep = c.depth >= kBlock;
  c.batch = deep ? draw(1, 2) : draw(1, 9);
  c.m = draw(1, deep ? 15 : 40);
  c.n = draw(1, deep ? 20 : 70);
  c.transpose_a = *rc::gen::arbitrary<bool>();
  c.transpose_b = *rc::gen::arbitrary<bool>();
  c.shared_b = *rc::gen::arbitrary<bool>();
  c.in_turns = c.batch % 2 == 0 && *rc::gen::arbitrary<bool>();
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  c.a = random_floats(c.batch * c.m * c.depth, seed);
  c.b = random_floats(c.batch * c.depth * c.n, seed + 1);
  if (*rc::gen::arbitrary<bool>()) c.bias = random_floats(c.n, seed + 2);
  return c;
}

Floats reference(const Case& c) {
  Floats out;
  const Operand a = c.left(), b = c.right();
  for (std::int64_t z = 0; z < c.batch; ++z) {
    for (std::int64_t i = 0; i < c.m; ++i) {
      for (std::int64_t j = 0; j < c.n; ++j) {
        const float sum = reference_chain(c.depth, [&](std::int64_t k) {
          return std::pair(a.data[z * a.batch + i * a.row + k * a.col],
                           b.data[z * b.batch + k * b.row + j * b.col]);
        });
        out.push_back(c.bias.empty() ? sum : sum + c.bias[size(j)]);
      }
    }
  }
  return out;
}

RC_GTEST_PROP(Gemm, IsTheBlockedChainOnEveryInstructionSetAndThreadCount, ()) {
  const Case c = random_case();
  const std::string where = EveryWay().differs(reference(c), [&](float* out) {
    device().gemm(c.all(), c.m, c.n, c.depth, c.of_all(c.left()), c.of_all(c.right()),
                  c.bias_or_null(), c.of_all(Output{out, c.n, c.m * c.n}));
  });
  RC_TAG(c.depth >= kBlock ? "several blocks" : "one block");
  RC_LOG() << c.batch << " x " << c.m << " x " << c.n << " x " << c.depth << ": " << where;
  RC_ASSERT(where.empty());
}

TEST(Gemm, LargeProductsAreSplitIntoThreadsAndChunksWithoutATrace) {
  for (const auto& [m, n, depth] : {std::array<std::int64_t, 3>{401, 67, 1100}, {3, 300, 1400}}) {
    const Floats a = random_floats(m * depth, 1), b = random_floats(depth * n, 2);
    Floats expected(size(m * n));
    use_isa(Isa::kScalar);
    device().gemm(1, m, n, depth, {a.data(), depth, 1}, {b.data(), n, 1}, nullptr,
                  {expected.data(), n});
    EXPECT_EQ(EveryWay().differs(expected,
                                 [&](float* out) {
                                   device().gemm(1, m, n, depth, {a.data(), depth, 1},
                                                 {b.data(), n, 1}, nullptr, {out, n});
                                 }),
              "");
  }
}

TEST(Gemm, RowsOfTheOutputMayLieApart) {
  const Floats a = random_floats(5 * 9, 1), b = random_floats(9 * 20, 2);
  Floats dense(5 * 20), apart(5 * 33, 7.0F);
  device().gemm(1, 5, 20, 9, {a.data(), 9, 1}, {b.data(), 20, 1}, nullptr, {dense.data(), 20});
  device().gemm(1, 5, 20, 9, {a.data(), 9, 1}, {b.data(), 20, 1}, nullptr, {apart.data(), 33});
  for (std::size_t i = 0; i < 5 * 33; ++i) {
    EXPECT_EQ(apart[i], i % 33 < 20 ? dense[i / 33 * 20 + i % 33] : 7.0F) << i;
  }
}

TEST(Gemm, SubnormalsAreKept) {
  const Floats a = {std::ldexp(1.0F, -80)}, b = Floats(20, std::ldexp(1.0F, -60));
  const std::string where = EveryWay().differs(Floats(20, std::ldexp(1.0F, -140)), [&](float* out) {
    device().gemm(1, 1, 20, 1, {a.data(), 1, 1}, {b.data(), 20, 1}, nullptr, {out, 20});
  });
  EXPECT_EQ(where, "");
}

RC_GTEST_PROP(LinearWeightGrad, IsAChainInsideALaneAndATreeOverLanes, ()) {
  const std::int64_t lanes = draw(1, 7), per_lane = draw(1, 3);
  const std::int64_t rows = *rc::gen::element<std::int64_t>(1, draw(2, 50), 400);
  const std::int64_t in = draw(1, 20), out = draw(1, rows == 400 ? 9 : 40);
  const std::int64_t samples = lanes * per_lane;
  const Floats x = random_floats(samples * rows * in, 3),
               dy = random_floats(samples * rows * out, 4);
  Floats expected;
  for (std::int64_t i = 0; i < in; ++i) {
    for (std::int64_t j = 0; j < out; ++j) {
      expected.push_back(tree_fold(
          0, lanes,
          [&](std::int64_t lane) {
            const std::int64_t first = lane * per_lane * rows;
            return reference_chain(per_lane * rows, [&](std::int64_t k) {
              return std::pair(x[size((first + k) * in + i)], dy[size((first + k) * out + j)]);
            });
          },
          [](float a, float b) { return a + b; }));
    }
  }
  const std::string where = EveryWay().differs(expected, [&](float* dw) {
    device().linear_weight_grad({per_lane, {lanes}}, rows, in, out, x.data(), dy.data(), dw);
  });
  RC_LOG() << where;
  RC_ASSERT(where.empty());
}

}  // namespace
}  // namespace lockstep::numerics
