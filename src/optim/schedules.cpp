// The learning rate's schedules: one row a kind, and what each multiplies the peak with at update
// t, from the end of the warm-up on.
#include "lockstep/optim/schedules.h"

#include <algorithm>

#include "lockstep/numerics/host_math.h"

namespace lockstep::optim {
namespace {

constexpr double kPi = 3.141592653589793;

std::int64_t horizon(const LearningRate& o) {
  return o.schedule.as<HorizonOptions>().horizon;
}

// From 0, where the warm-up ends, to 1 at the horizon and after it.
double progress(const LearningRate& o, std::int64_t t) {
  return std::min(1.0,
                  static_cast<double>(t - o.warmup) / static_cast<double>(horizon(o) - o.warmup));
}

double constant(const LearningRate&, std::int64_t) {
  return 1.0;
}

// Half a period (Loshchilov & Hutter 2017, equation 5, of one run and to 0).
double cosine(const LearningRate& o, std::int64_t t) {
  return 0.5 * (1.0 + numerics::host::cos(kPi * progress(o, t)));
}

double linear(const LearningRate& o, std::int64_t t) {
  return 1.0 - progress(o, t);
}

double step(const LearningRate& o, std::int64_t t) {
  const auto& own = o.schedule.as<IntervalOptions>();
  const std::int64_t whole = (t - o.warmup) / own.interval;
  return numerics::host::pow(own.factor, static_cast<double>(whole));
}

double exponential(const LearningRate& o, std::int64_t t) {
  const auto& own = o.schedule.as<IntervalOptions>();
  const double intervals = static_cast<double>(t - o.warmup) / static_cast<double>(own.interval);
  return numerics::host::pow(own.factor, intervals);
}

}  // namespace

std::span<const ScheduleKind> schedules() {
  const auto never = nullptr;
  static constexpr ScheduleKind kRows[] = {
      {"constant", "lr", &OptionsOf<NoOptions>::make, &constant, never},
      {"cosine", "half a cosine from lr to 0 at horizon", &OptionsOf<HorizonOptions>::make, &cosine,
       &horizon},
      {"linear", "a line from lr to 0 at horizon", &OptionsOf<HorizonOptions>::make, &linear,
       &horizon},
      {"step", "times factor after every interval", &OptionsOf<IntervalOptions>::make, &step,
       never},
      {"exponential", "times factor in every interval, a little each step",
       &OptionsOf<IntervalOptions>::make, &exponential, never},
  };
  return kRows;
}

}  // namespace lockstep::optim
