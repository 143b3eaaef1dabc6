// The blocked chain of gemm.h, one value at a time.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/fma_region.h"
#include "lockstep/numerics/spec/shapes.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics {

// fold(begin, end) is a block's sum; blocks are added in order. n = 0 gives +0.
template <class Fold>
LOCKSTEP_HD static inline float blocked_sum(std::int64_t n, const Fold& fold) {
  float total = 0.0F;
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const float sum = fold(begin, begin + kBlock < n ? begin + kBlock : n);
    total = begin == 0 ? sum : total + sum;
  }
  return total;
}

// The same where step(acc, i) folds element i into a block's sum.
template <class Step>
LOCKSTEP_HD static inline float blocked_chain(std::int64_t n, const Step& step) {
  return blocked_sum(n, [&](std::int64_t begin, std::int64_t end) {
    float acc = 0.0F;
    for (std::int64_t i = begin; i < end; ++i) acc = step(acc, i);
    return acc;
  });
}

}  // namespace lockstep::numerics
LOCKSTEP_FMA_END
