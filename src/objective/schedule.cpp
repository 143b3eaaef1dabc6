#include "lockstep/objective/schedule.h"

#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/numerics/host_math.h"

namespace lockstep::objective {

namespace {

namespace host = numerics::host;
constexpr double kHalfPi = 1.5707963267948966;
constexpr double kLargestBeta = 0.999;

double linear_beta(std::int64_t t, std::int64_t timesteps) {
  const double scale = 1000.0 / static_cast<double>(timesteps);
  const double first = scale * 1e-4, last = scale * 0.02;
  if (timesteps == 1) return first;
  return first + (last - first) * (static_cast<double>(t) / static_cast<double>(timesteps - 1));
}

double cosine_signal(std::int64_t t, std::int64_t timesteps) {
  const double part = static_cast<double>(t) / static_cast<double>(timesteps);
  const double c = host::cos((part + 0.008) / 1.008 * kHalfPi);
  return c * c;
}

}  // namespace

Schedule make_schedule(const std::string& name, std::int64_t timesteps) {
  if (timesteps < 1) {
    throw Error(Code::kUsage, "timesteps: " + std::to_string(timesteps) + " is less than 1",
                "1000 is usual");
  }
  if (name != "linear" && name != "cosine") {
    throw Error(Code::kUsage, "schedule: there is no noise schedule '" + name + "'",
                "use linear or cosine");
  }
  Schedule schedule;
  double product = 1.0;
  for (std::int64_t t = 0; t < timesteps; ++t) {
    const double beta = name == "linear"
                            ? linear_beta(t, timesteps)
                            : 1.0 - cosine_signal(t + 1, timesteps) / cosine_signal(t, timesteps);
    schedule.beta.push_back(std::min(beta, kLargestBeta));
    product *= 1.0 - schedule.beta.back();
    schedule.alpha_bar.push_back(product);
  }
  return schedule;
}

}  // namespace lockstep::objective
