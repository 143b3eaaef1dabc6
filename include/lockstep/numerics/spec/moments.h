// Batch statistics: per lane first, then merged over lanes in the tree (Chan, Golub, LeVeque 1979).
// A lane's channel has count (samples_per_lane*rows), mean and m2 = sum of squared deviations.
#pragma once

namespace lockstep::numerics {

struct Moments {
  float count = 0, mean = 0, m2 = 0;
};
// d = b.mean - a.mean; count = a.count + b.count; r = b.count / count
// mean = fma(d, r, a.mean); m2 = fma(d*d, a.count*r, a.m2 + b.m2)
Moments merge(const Moments& a, const Moments& b);

}  // namespace lockstep::numerics
