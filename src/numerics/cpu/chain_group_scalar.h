// Private: blocked fma chains of a few outputs side by side, one float at a time. For *_scalar.cpp.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/fma_region.h"
#include "lockstep/numerics/spec/shapes.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics {
namespace {

class ChainGroup {
 public:
  static constexpr std::int64_t kMost = 16;

  explicit ChainGroup(std::int64_t outputs) : outputs_(outputs) {}

  // The next k of every output: acc = fma(a, b[output], acc).
  void step(float a, const float* b, std::int64_t stride) {
    for (std::int64_t j = 0; j < outputs_; ++j) {
      acc_[j] = __builtin_fmaf(a, b[j * stride], acc_[j]);
    }
    if (++length_ % kBlock == 0) end_block();
  }

  // bias and out of the first output; bias may be null.
  void finish(const float* bias, float* out) {
    if (length_ % kBlock != 0) end_block();
    for (std::int64_t j = 0; j < outputs_; ++j) {
      out[j] = bias == nullptr ? total_[j] : total_[j] + bias[j];
    }
  }

 private:
  void end_block() {
    const bool first = length_ <= kBlock;
    for (std::int64_t j = 0; j < outputs_; ++j) {
      total_[j] = first ? acc_[j] : total_[j] + acc_[j];
      acc_[j] = 0.0F;
    }
  }

  std::int64_t outputs_, length_ = 0;
  float acc_[kMost] = {}, total_[kMost] = {};
};

// body(first, count) over [0, n) in pieces that fit ChainGroup.
template <class Body>
void for_each_group(std::int64_t n, const Body& body) {
  for (std::int64_t j = 0; j < n; j += ChainGroup::kMost) {
    body(j, n - j < ChainGroup::kMost ? n - j : ChainGroup::kMost);
  }
}

}  // namespace
}  // namespace lockstep::numerics
LOCKSTEP_FMA_END
