// beta from 1e-4 to 0.02 for 1000 timesteps (Ho et al. 2020), scaled by 1000/timesteps.
#include "objective/kinds.h"

namespace lockstep::objective {

double linear_beta(const NoiseKind&, std::int64_t t, std::int64_t timesteps) {
  const double scale = 1000.0 / static_cast<double>(timesteps);
  const double first = scale * 1e-4, last = scale * 0.02;
  if (timesteps == 1) return first;
  return first + (last - first) * (static_cast<double>(t) / static_cast<double>(timesteps - 1));
}

}  // namespace lockstep::objective
