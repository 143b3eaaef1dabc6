// What the tests of networks share.
#pragma once

#include <algorithm>
#include <cstring>

#include "lockstep/lane/backward.h"
#include "lockstep/model/network.h"
#include "lockstep/numerics/philox.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"

namespace lockstep::model::testing {

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
inline Options small_unet() {
  Options o;
  o.channels = {4, 8};
  o.blocks = 1;
  o.attention_levels = {1};
  o.heads = 2;
  o.groups = 2;
  o.embedding = 6;
  return o;
}

}  // namespace lockstep::model::testing
