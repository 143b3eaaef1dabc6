#include "lockstep/objective/noise_schedule.h"

#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/numerics/host_math.h"

namespace lockstep::objective {
namespace {

constexpr double kLargestBeta = 0.999;
constexpr double kHalfPi = 1.5707963267948966;

// From 1e-4 to 0.02 for 1000 timesteps (Ho et al. 2020), scaled by 1000/timesteps.
double linear(std::int64_t t, std::int64_t timesteps) {
  const double scale = 1000.0 / static_cast<double>(timesteps);
  const double first = scale * 1e-4, last = scale * 0.02;
  if (timesteps == 1) return first;
  return first + (last - first) * (static_cast<double>(t) / static_cast<double>(timesteps - 1));
}

// alpha_bar ~ cos^2((t/T + 0.008)/1.008 * pi/2) (Nichol & Dhariwal 2021).
double cosine_signal(std::int64_t t, std::int64_t timesteps) {
  const double part = static_cast<double>(t) / static_cast<double>(timesteps);
  const double c = numerics::host::cos((part + 0.008) / 1.008 * kHalfPi);
  return c * c;
}

double cosine(std::int64_t t, std::int64_t timesteps) {
  return 1.0 - cosine_signal(t + 1, timesteps) / cosine_signal(t, timesteps);
}

}  // namespace

std::span<const NoiseScheduleKind> noise_schedules() {
  static constexpr NoiseScheduleKind kRows[] = {
      {"linear", "of Ho et al. 2020, scaled to the timesteps", &OptionsOf<NoOptions>::make,
       &linear},
      {"cosine", "of Nichol & Dhariwal 2021", &OptionsOf<NoOptions>::make, &cosine},
  };
  return kRows;
}

NoiseSchedule make_noise_schedule(const Kind<NoiseScheduleKind>& kind, std::int64_t timesteps) {
  if (timesteps < 1) {
    throw Error(Code::kUsage, "timesteps: " + std::to_string(timesteps) + " is less than 1",
                "1000 is usual");
  }
  const NoiseScheduleKind& row = kind.row("schedule");
  NoiseSchedule schedule;
  double product = 1.0;
  for (std::int64_t t = 0; t < timesteps; ++t) {
    schedule.beta.push_back(std::min(row.beta(t, timesteps), kLargestBeta));
    product *= 1.0 - schedule.beta.back();
    schedule.alpha_bar.push_back(product);
  }
  return schedule;
}

}  // namespace lockstep::objective
