// Private: integer products for CUDA (integer.h): operands are rounded, then multiplied as floats
// are (products-inl.h), in integers.
#pragma once

#include "lockstep/numerics/spec/integer.h"
#include "numerics/cuda/products-inl.h"

namespace lockstep::numerics::cuda {

// A block a group: its exponent.
struct ExponentKernel {
  std::int64_t rows, c;
  Sides<const float> x;
  std::int32_t* exponents;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const std::int64_t group = t.block();
    std::uint32_t most = 0;
    for (std::int64_t i = t.thread(); i < rows * c; i += t.threads()) {
      const std::uint32_t one = spec::magnitude(at(x, c, group * rows + i / c, i % c));
      most = one > most ? one : most;
    }
    for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
      const std::uint32_t other = t.shuffle_down(most, lanes);
      most = other > most ? other : most;
    }
    auto* const warps = t.template shared<std::uint32_t>();
    if (t.thread() % kWarp == 0) warps[t.thread() / kWarp] = most;
    t.barrier();
    if (t.thread() != 0) return;
    for (int warp = 1; warp < t.threads() / kWarp; ++warp)
      most = warps[warp] > most ? warps[warp] : most;
    exponents[group] = spec::exponent_of(most);
  }
};

template <class Gpu>
void Device<Gpu>::round_groups(std::int64_t groups, std::int64_t rows, std::int64_t c,
                               Sides<const float> x, std::int16_t* q, std::int32_t* exponents) {
  gpu_->launch(Grid{groups, kThreads, kThreads / kWarp * 4}, ExponentKernel{rows, c, x, exponents});
  each(groups * rows * c, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    const std::int32_t exponent = exponents[i / (rows * c)];
    q[i] = exponent == spec::kNotFinite
               ? std::int16_t{0}
               : spec::rounded(at(x, c, i / c, i % c), spec::rounding_factor(exponent));
  });
}

template <class Gpu>
void Device<Gpu>::integer_conv2d(const ConvShape& s, const Rounded& x, const Rounded& w,
                                 const Added& added, float* y) {
  forward_of<Gpu, IntegerChain>(*gpu_, s, x.q, w.q, Scaled{x.exponents, w.exponents, true}, added,
                                y);
}

template <class Gpu>
void Device<Gpu>::integer_conv2d_input_grad(const ConvShape& s, const Rounded& dy, const Rounded& w,
                                            const float* bias, float* dx) {
  input_grad_of<Gpu, IntegerChain>(*gpu_, s, dy.q, w.q, Scaled{dy.exponents, w.exponents, true},
                                   bias, dx);
}

template <class Gpu>
void Device<Gpu>::integer_conv2d_weight_grad(const ConvShape& s, const LaneBlocks& lanes,
                                             const Rounded& x, const Rounded& dy, float* dw) {
  const std::int64_t positions = s.out_h() * s.out_w(), taps = s.kh * s.kw * s.in, out = s.out;
  const Scratch<Gpu, float> products(*gpu_, lanes.samples() * taps * out);
  float* const to = products.data();
  const Scaled round{x.exponents, dy.exponents, false};
  const auto result = [=] LOCKSTEP_DEVICE(std::int64_t z, std::int64_t i, std::int64_t j,
                                          std::int64_t sum) {
    to[(z * taps + i) * out + j] = round(z, sum);
  };
  launch_product<IntegerChain>(*gpu_, {lanes.samples(), taps, out, positions},
                               TurnedPatches<std::int16_t>{patches_of(s, x.q), positions},
                               Gradients<std::int16_t>{dy.q, positions, out}, result);
  tree_over_samples(*gpu_, lanes, taps * out, to, dw);
}

}  // namespace lockstep::numerics::cuda
