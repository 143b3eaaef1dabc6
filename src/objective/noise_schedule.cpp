#include "lockstep/objective/noise_schedule.h"

#include <algorithm>

#include "objective/kinds.h"

namespace lockstep::objective {
namespace {

constexpr double kLargestBeta = 0.999;

}  // namespace

std::span<const NoiseScheduleKind> noise_schedules() {
  static constexpr NoiseScheduleKind kRows[] = {
      {"linear", "of Ho et al. 2020, scaled to the timesteps", &OptionsOf<NoOptions>::make,
       &linear_beta},
      {"cosine", "of Nichol & Dhariwal 2021", &OptionsOf<NoOptions>::make, &cosine_beta},
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
    schedule.beta.push_back(std::min(row.beta(kind, t, timesteps), kLargestBeta));
    product *= 1.0 - schedule.beta.back();
    schedule.alpha_bar.push_back(product);
  }
  return schedule;
}

}  // namespace lockstep::objective
