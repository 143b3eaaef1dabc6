// The blocked chain of gemm.h, one value at a time.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/fma_region.h"
#include "lockstep/numerics/spec/shapes.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics {

// step(acc, i) folds element i into a block's sum; blocks are added in order. n = 0 gives +0.
template <class Step>
LOCKSTEP_HD static inline float blocked_chain(std::int64_t n, const Step& step) {
  float total = 0.0F;
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const std::int64_t end = begin + kBlock < n ? begin + kBlock : n;
    float acc = 0.0F;
    for (std::int64_t i = begin; i < end; ++i) acc = step(acc, i);
    total = begin == 0 ? acc : total + acc;
  }
  return total;
}

}  // namespace lockstep::numerics
LOCKSTEP_FMA_END
