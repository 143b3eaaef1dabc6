// The learning rate of each update: a warm-up, then a schedule. Free of LibTorch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "lockstep/core/kinds.h"

namespace lockstep::optim {

inline constexpr std::int64_t kMostSteps = std::int64_t{1} << 40;  // that a schedule counts

struct LearningRate;

// A row of the schedules.
struct ScheduleKind {
  std::string_view word, meaning;
  std::unique_ptr<KindOptions> (*options)();
  // What the peak is multiplied with at update t >= options.warmup, in double with host functions.
  double (*factor)(const LearningRate& options, std::int64_t t);
  // The update from which the rate is 0; null: there is none.
  std::int64_t (*end)(const LearningRate& options);
};
std::span<const ScheduleKind> schedules();

struct LearningRate {
  double lr = 1e-3;  // the peak, of a batch of base_batch where it is scaled
  // With the batch: "none", "linear" (Goyal et al. 2017), "sqrt" (Krizhevsky 2014).
  std::string lr_scaling = "none";
  std::int64_t base_batch = 0;
  std::int64_t warmup = 0;  // updates of linear warm-up from 0
  Kind<ScheduleKind> schedule{schedules()};
};

// The peak in a run whose global batch has this many samples, in double with host functions: a
// function of the recipe, never of the ranks. Error(kUsage) for a word that is none of the three.
double peak(const LearningRate& options, std::int64_t batch);

// Error(kUsage) for a schedule that cannot be computed.
void check_schedule(const LearningRate& options);

// The learning rate of update t (counted from 1) with `lr` as the peak, in double with host
// functions.
double learning_rate(const LearningRate& options, std::int64_t t);

}  // namespace lockstep::optim
