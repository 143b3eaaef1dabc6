// alpha_bar ~ cos^2((t/T + 0.008)/1.008 * pi/2) (Nichol & Dhariwal 2021).
#include "lockstep/numerics/host_math.h"
#include "objective/kinds.h"

namespace lockstep::objective {
namespace {

constexpr double kHalfPi = 1.5707963267948966;

double signal(std::int64_t t, std::int64_t timesteps) {
  const double part = static_cast<double>(t) / static_cast<double>(timesteps);
  const double c = numerics::host::cos((part + 0.008) / 1.008 * kHalfPi);
  return c * c;
}

}  // namespace

double cosine_beta(const NoiseKind&, std::int64_t t, std::int64_t timesteps) {
  return 1.0 - signal(t + 1, timesteps) / signal(t, timesteps);
}

}  // namespace lockstep::objective
