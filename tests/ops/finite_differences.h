// Derivatives by central differences of fourth order,
//
//   f'(x) = (f(x-2h) - 8 f(x-h) + 8 f(x+h) - f(x+2h)) / 12h,   h = 2^-5,
//
// of sums taken in double over binary32 outputs.
//
// Why a tolerance: an output is rounded to 2^-24 relative, which the quotient magnifies by about
// 1/h, and sums of a few hundred such errors stay near 1e-4; the formula's own error is h^4 f'''''
// / 30, about 3e-8 times the fifth derivative. A missing or wrong term changes these gradients, of
// values near 1, by far more than 2e-3. Inputs are multiples of 2^-12, so that x +- h is exact.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"
#include "ops/additions.h"

namespace lockstep::ops::testing {

constexpr double kStep = 1.0 / 32;
constexpr double kTolerance = 2e-3;

// Magnitudes in [1/8, 11/8): no kink at 0 within the differences. `sign` false: positive.
inline Tensor values(at::IntArrayRef sizes, std::uint32_t key, bool sign = true) {
  Tensor x = ops::empty(sizes);
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(x.numel()));
  device().fill_bits({.key = {key, 1}, .micro = 0}, 0, x.numel(), bits.data());
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const std::uint32_t u = bits[static_cast<std::size_t>(i)];
    const float magnitude = 0.125F + static_cast<float>(u % 5120) / 4096.0F;
    write(x)[i] = sign && (u >> 31) ? -magnitude : magnitude;
  }
  return x;
}

inline Tensor copy_of(const Tensor& x) {
  Tensor copy = ops::empty(x.sizes());
  std::copy_n(read(x), x.numel(), write(copy));
  return copy;
}

// The blocks that ranks of several world sizes hold of 6 lanes of 3 samples: 1, 2 (both), 3 and 5
// ranks. Several partials among them.
inline std::vector<LaneBlocks> all_blocks() {
  return {{3, {6}}, {3, {2, 1}}, {3, {1, 2}}, {3, {2}}, {3, {1}}};
}
inline LaneBlocks two_partials() {
  return {3, {2, 1}};
}

inline Tensor entered(const Tensor& root, const LaneBlocks& lanes) {
  std::vector<std::int64_t> sizes = root.sizes().vec();
  sizes.insert(sizes.begin(), lanes.partials());
  return root.detach().unsqueeze(0).expand(sizes);
}

// The partial that row `row` of an output belongs to: outputs have a row a sample or a partial.
inline std::int64_t partial_of(const LaneBlocks& lanes, const Tensor& out, std::int64_t row) {
  if (out.size(0) == lanes.partials()) return row;
  if (out.size(0) != lanes.samples()) return 0;
  std::int64_t end = 0;
  for (std::int64_t p = 0;; ++p) {
    end += lanes.lanes[static_cast<std::size_t>(p)] * lanes.samples_per_lane;
    if (row < end) return p;
  }
}

inline std::vector<double> dots_by_partial(const LaneBlocks& lanes, const Tensor& out,
                                           const Tensor& cotangent) {
  std::vector<double> sums(static_cast<std::size_t>(lanes.partials()));
  const Tensor y = out.detach().contiguous();
  const std::int64_t cols = y.numel() / y.size(0);
  for (std::int64_t i = 0; i < y.numel(); ++i) {
    sums[static_cast<std::size_t>(partial_of(lanes, y, i / cols))] +=
        static_cast<double>(read(y)[i]) * static_cast<double>(read(cotangent)[i]);
  }
  return sums;
}

inline double weighted_sum(const Tensor& a_in, const Tensor& b) {
  const Tensor a = a_in.detach().contiguous();
  double sum = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i)
    sum += static_cast<double>(read(a)[i]) * static_cast<double>(read(b)[i]);
  return sum;
}

// The derivative of a vector-valued function of x's element i; x is as before afterwards.
inline std::vector<double> difference(Tensor& x, std::int64_t i,
                                      const std::function<std::vector<double>()>& f) {
  const float before = read(x)[i];
  std::vector<double> result;
  for (const auto& [steps, weight] :
       {std::pair{-2.0, 1.0}, {-1.0, -8.0}, {1.0, 8.0}, {2.0, -1.0}}) {
    write(x)[i] = before + static_cast<float>(steps * kStep);
    const std::vector<double> at = f();
    result.resize(at.size());
    for (std::size_t k = 0; k < at.size(); ++k) result[k] += weight * at[k] / (12 * kStep);
  }
  write(x)[i] = before;
  return result;
}

inline void expect_near(double ours, double theirs, const std::string& where) {
  EXPECT_NEAR(ours, theirs, kTolerance * std::max(1.0, std::abs(theirs))) << where;
}

struct Input {
  Tensor value;            // of a parameter: without the dimension of partials
  bool parameter = false;  // enters with a view of stride 0, returns a gradient a partial
};
inline Input parameter(const Tensor& value) {
  return {value, true};
}

// d(<f(inputs), random>)/d(inputs), of every partial alone.
inline void expect_gradients(const LaneBlocks& lanes, const std::vector<Input>& inputs,
                             const std::function<Tensor(const Tensors&)>& f) {
  const auto enter = [&] {
    Tensors in;
    for (const Input& input : inputs)
      in.push_back(input.parameter ? entered(input.value, lanes) : input.value.detach());
    return in;
  };
  Tensors in = enter();
  for (Tensor& x : in) x.requires_grad_(true);
  const Tensor out = f(in), cotangent = values(out.sizes(), 77);
  const Tensors grads = gradients({out}, {cotangent}, in, false);
  const at::NoGradGuard no_grad;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    ASSERT_TRUE(grads[k].defined()) << "input " << k;
    ASSERT_EQ(grads[k].sizes(), in[k].sizes()) << "input " << k;
    const Tensor grad = grads[k].contiguous();
    Tensor x = inputs[k].value;
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const std::vector<double> by_partial =
          difference(x, i, [&] { return dots_by_partial(lanes, f(enter()), cotangent); });
      const std::string where = "input " + std::to_string(k) + " element " + std::to_string(i);
      double total = 0;
      for (std::size_t p = 0; p < by_partial.size(); ++p) {
        total += by_partial[p];
        if (inputs[k].parameter) {
          expect_near(read(grad)[static_cast<std::int64_t>(p) * x.numel() + i], by_partial[p],
                      where + " partial " + std::to_string(p));
        }
      }
      if (!inputs[k].parameter) expect_near(read(grad)[i], total, where);
    }
  }
}

// The same for h = <gradients of <f(inputs), g>, random>, with respect to the inputs and to g.
// Parameters are given with their P slices, all different: as gradients of gradients have them.
inline void expect_gradients_of_gradients(const Tensors& inputs,
                                          const std::function<Tensor(const Tensors&)>& f) {
  Tensors all = inputs;  // and g
  {
    const at::NoGradGuard no_grad;
    all.push_back(values(f(inputs).sizes(), 78));
  }
  const auto first = [&](bool create_graph) {
    Tensors in;
    for (const Tensor& x : all) in.push_back(x.detach().requires_grad_(true));
    const Tensor out = f({in.begin(), in.end() - 1});
    const Tensors wanted(in.begin(), in.end() - 1);
    return std::pair{in, gradients({out}, {in.back()}, wanted, create_graph)};
  };
  const Additions additions;
  const auto [in, grads] = first(true);
  Tensors reached, weights;
  for (std::size_t k = 0; k < grads.size(); ++k) {
    ASSERT_TRUE(grads[k].defined());
    ASSERT_TRUE(grads[k].requires_grad()) << "no history of the gradient of input " << k;
    reached.push_back(grads[k]);
    weights.push_back(values(grads[k].sizes(), 79 + static_cast<std::uint32_t>(k)));
  }
  const Tensors second = gradients(reached, weights, in, false);
  EXPECT_EQ(additions.count(), 0) << "the engine added gradients: a fork is missing";
  for (std::size_t k = 0; k < all.size(); ++k) {
    Tensor x = all[k];
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const double expected = difference(x, i, [&] {
        double total = 0;
        const Tensors now = first(false).second;
        for (std::size_t j = 0; j < now.size(); ++j) total += weighted_sum(now[j], weights[j]);
        return std::vector<double>{total};
      })[0];
      // An input that the gradients do not depend on gets no gradient: zero.
      const double ours = second[k].defined() ? read(second[k].contiguous())[i] : 0.0;
      expect_near(ours, expected, "input " + std::to_string(k) + " element " + std::to_string(i));
    }
  }
}

}  // namespace lockstep::ops::testing
