// The learning rate of each update: a warm-up, then a schedule. Free of LibTorch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "lockstep/core/kinds.h"

namespace lockstep::optim {

inline constexpr std::int64_t kMostSteps = std::int64_t{1} << 40;  // that a schedule counts

struct LearningRate;

// A row of the schedules.
struct ScheduleKind {
  std::string_view word, meaning;
  std::unique_ptr<KindOptions> (*options)();
  // Error(kUsage) for what cannot be computed.
  void (*check)(const LearningRate& options);
  // What the peak is multiplied with at update t >= options.warmup, in double with host functions.
  double (*factor)(const LearningRate& options, std::int64_t t);
  // The update from which the rate is 0; 0: there is none.
  std::int64_t (*end)(const LearningRate& options);
};
std::span<const ScheduleKind> schedules();

struct LearningRate {
  double lr = 1e-3;         // the peak
  std::int64_t warmup = 0;  // updates of linear warm-up from 0
  Kind<ScheduleKind> schedule{schedules()};
};

// Error(kUsage) for a schedule that cannot be computed.
void check_schedule(const LearningRate& options);

// The learning rate of update t (counted from 1), in double with host functions.
double learning_rate(const LearningRate& options, std::int64_t t);

}  // namespace lockstep::optim
