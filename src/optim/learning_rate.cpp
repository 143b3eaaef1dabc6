#include "lockstep/optim/learning_rate.h"

namespace lockstep::optim {

void check_schedule(const LearningRate& o) {
  o.schedule.row("schedule").check(o);
}

double learning_rate(const LearningRate& o, std::int64_t t) {
  check_schedule(o);
  if (t < o.warmup) return o.lr * (static_cast<double>(t) / static_cast<double>(o.warmup));
  return o.lr * o.schedule.row("schedule").factor(o, t);
}

}  // namespace lockstep::optim
