// What the tests of networks share.
#pragma once

#include <algorithm>
#include <cstring>

#include "lockstep/lane/backward.h"
#include "lockstep/model/layers.h"
#include "lockstep/model/network.h"
#include "lockstep/numerics/philox.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"
#include "support/network_options.h"

namespace lockstep::model::testing {

using namespace lockstep::testing;  // NOLINT

inline const Weights kSpectral{.spectral = SpectralNorm::kYes};

inline Tensor normals(at::IntArrayRef sizes, std::uint32_t key) {
  Tensor x = ops::empty(sizes);
  ops::device().fill_normal({.key = {key, 7}, .micro = 0}, 0, 1, x.numel(), ops::write(x));
  return x;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && std::memcmp(ops::read(a), ops::read(b), a.nbytes()) == 0;
}

inline bool finite(const Tensor& x) {
  return std::ranges::all_of(ops::HostView(x).floats(), [](float v) { return v - v == 0.0F; });
}

inline std::vector<Tensor> parameters_of(const Network& network) {
  std::vector<Tensor> list;
  for (const NamedTensor& p : network.parameters_in_order()) list.push_back(p.tensor);
  return list;
}

// A small U-Net with everything in it: two levels, attention, widths that change.
inline Options small_unet(const std::vector<std::int64_t>& channels = {4, 8}) {
  return unet({.channels = channels,
               .blocks = 1,
               .attention_levels = {1},
               .heads = 2,
               .groups = 2,
               .embedding = 6});
}

// A small diffusion transformer with everything in it.
inline Options small_dit(std::int64_t patch = 2) {
  return dit({.patch = patch, .width = 8, .depth = 2, .heads = 2, .mlp_ratio = 2, .embedding = 6});
}

}  // namespace lockstep::model::testing
