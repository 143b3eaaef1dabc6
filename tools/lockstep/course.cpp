#include "course.h"

#include <numeric>
#include <utility>

#include "lockstep/ops/memory.h"
#include "lockstep/train/training.h"

namespace lockstep::cli {
namespace {

// As far as 64 bits go.
std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? INT64_MAX : result;
}
std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? INT64_MAX : result;
}

// At multiples of `every` and at the end.
std::int64_t times(std::int64_t every, std::int64_t steps) {
  return steps == 0 ? 0 : every == 0 ? 1 : steps / every + (steps % every == 0 ? 0 : 1);
}

// Of `saved` checkpoints: the newest keep_last, and older ones at multiples of keep_every.
std::int64_t kept_of(std::int64_t saved, const recipe::Checkpoint& o) {
  if (o.keep_last == 0 || saved <= o.keep_last) return saved;
  std::int64_t kept = o.keep_last;
  if (o.keep_every == 0) return kept;
  const std::int64_t apart = o.keep_every / std::gcd(o.every, o.keep_every);
  return kept + (saved - o.keep_last) / apart;  // checkpoint i is at step i * every, but the last
}

}  // namespace

Course course_of(const recipe::Recipe& recipe, std::int64_t data) {
  const std::int64_t steps = recipe.run.steps;
  Course course;
  course.samples = product(steps, recipe.batch.batch());
  course.epochs = static_cast<double>(course.samples) / static_cast<double>(data);
  const bool pictures = recipe.samples.count > 0 && objective::makes_samples(recipe.objective);
  course.grids = pictures ? times(recipe.samples.every, steps) : 0;
  course.saved = times(recipe.checkpoint.every, steps);
  if (recipe.evaluation.every > 0) course.evaluations = steps / recipe.evaluation.every;
  course.kept = kept_of(course.saved, recipe.checkpoint);
  if (!objective::makes_samples(recipe.objective)) return course;
  const std::int64_t checks = recipe.monitor.every > 0 ? steps / recipe.monitor.every : 0;
  for (const auto& [times, each] : {std::pair(course.grids, recipe.samples.count),
                                    {course.evaluations, recipe.evaluation.samples},
                                    {checks, recipe.monitor.samples}})
    course.made = sum(course.made, product(times, each));
  return course;
}

Size size_of(const recipe::Recipe& recipe, const std::vector<std::int64_t>& sample_shape) {
  const ops::Allocations uncomputed;  // the model may be too large for this machine
  const train::Training training = train::make_training(recipe, sample_shape, {.world = 1});
  Size size{.state_bytes = training.state.bytes()};
  for (const train::Trained& one : training.trained) {
    for (const at::Tensor& parameter : one.parameters) size.parameters += parameter.numel();
    double steps = 1;
    for (const objective::PhaseNames& phase : objective::phases(recipe.objective))
      if (phase.role == one.role)
        steps = static_cast<double>(objective::steps_between(recipe.objective, phase));
    size.step_flops +=
        3 * one.network->forward_flops() * static_cast<double>(training.plan.batch()) / steps;
  }
  size.passes_per_sample = training.objective->passes_per_sample();
  size.sample_flops = training.trained.front().network->forward_flops() *
                      static_cast<double>(size.passes_per_sample);
  return size;
}

std::int64_t bytes_of(std::int64_t checkpoints, const Size& size) {
  return product(checkpoints, size.state_bytes);
}

}  // namespace lockstep::cli
