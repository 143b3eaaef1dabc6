// Noise schedules of diffusion, in double with host functions, in index order. Free of LibTorch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lockstep/core/kinds.h"

namespace lockstep::objective {

inline constexpr std::int64_t kMostTimesteps = 1 << 20;  // host::sin and cos take angles up to here

// Timesteps count from 0 (almost no noise) to size()-1.
struct NoiseSchedule {
  std::vector<double> beta;
  std::vector<double> alpha_bar;  // running product of 1 - beta: the signal's share of the variance

  std::int64_t size() const { return static_cast<std::int64_t>(beta.size()); }
  double alpha_bar_before(std::int64_t t) const {  // 1 before the first timestep
    return t == 0 ? 1.0 : alpha_bar[static_cast<std::size_t>(t - 1)];
  }
};

// A row of the noise schedules.
struct NoiseScheduleKind {
  std::string_view word, meaning;
  std::unique_ptr<KindOptions> (*options)();
  // The variance of the noise that timestep t adds; more than 0.999 is cut to that.
  double (*beta)(std::int64_t t, std::int64_t timesteps);
};
std::span<const NoiseScheduleKind> noise_schedules();

// Error(kUsage) for a word that is not in the table, or timesteps < 1. Bits: arguments.
NoiseSchedule make_noise_schedule(const Kind<NoiseScheduleKind>& kind, std::int64_t timesteps);

}  // namespace lockstep::objective
