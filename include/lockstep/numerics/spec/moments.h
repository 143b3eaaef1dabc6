// Batch statistics: per lane first, then merged over lanes in the tree (Chan, Golub, LeVeque 1979).
// A lane's channel has count (samples_per_lane*rows), mean and m2 = sum of squared deviations.
#pragma once

#include "lockstep/numerics/spec/operations.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics {

struct Moments {
  float count = 0, mean = 0, m2 = 0;
};

LOCKSTEP_HD static inline Moments merge(const Moments& a, const Moments& b) {
  const float d = b.mean - a.mean;
  const float count = a.count + b.count;
  const float r = b.count / count;
  return {count, spec::fma(d, r, a.mean), spec::fma(d * d, a.count * r, a.m2 + b.m2)};
}

}  // namespace lockstep::numerics
LOCKSTEP_FMA_END
