#include "dry_run.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "lockstep/core/clock.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/text.h"
#include "lockstep/data/dataset.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/recipe/warnings.h"
#include "lockstep/train/interval.h"
#include "lockstep/train/memory.h"
#include "lockstep/train/picture.h"
#include "lockstep/train/warnings.h"
#include "output.h"

namespace lockstep::cli {
namespace {

struct Size {
  std::int64_t parameters = 0;
  std::int64_t state_bytes = 0;
  double step_flops = 0;
};

// A step costs one forward and two backward products a network and phase, in the mean over steps;
// good to a few tens of percent.
Size size_of(const recipe::Recipe& recipe, const std::vector<std::int64_t>& sample_shape) {
  const ops::Allocations uncomputed;  // the model may be too large for this machine
  const train::Training training = train::make_training(recipe, sample_shape, {.world = 1});
  Size size{.parameters = 0, .state_bytes = training.state.bytes(), .step_flops = 0};
  for (const train::Trained& one : training.trained) {
    for (const at::Tensor& parameter : one.parameters) size.parameters += parameter.numel();
    double steps = 1;
    for (const objective::PhaseNames& phase : objective::phases(recipe.objective))
      if (phase.role == one.role)
        steps = static_cast<double>(objective::steps_between(recipe.objective, phase));
    size.step_flops +=
        3 * one.network->forward_flops() * static_cast<double>(training.plan.batch()) / steps;
  }
  return size;
}

// What the whole run draws and leaves behind.
struct Course {
  std::int64_t samples = 0, grids = 0, saved = 0, kept = 0, evaluations = 0;
  double epochs = 0;
};

constexpr double kLeastTold = 0.002;  // seconds of a step

// Seconds of so many operations at the pace of a large matrix product, on one thread of this
// machine: a step is no faster.
double least_seconds(double flops) {
  constexpr std::int64_t kSide = 384;
  numerics::Cpu cpu(1);
  const std::vector<float> a(kSide * kSide, 1.0F);
  std::vector<float> c(a.size());
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double begin = monotonic_seconds();
    cpu.gemm(1, kSide, kSide, kSide, {a.data(), kSide, 1}, {a.data(), kSide, 1}, nullptr,
             {c.data(), kSide});
    best = std::min(best, monotonic_seconds() - begin);
  }
  return flops / (2.0 * kSide * kSide * kSide / best);
}

// As far as 64 bits go.
std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? INT64_MAX : result;
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
  return course;
}

// A step's memory for a number of lanes at once.
struct Memory {
  std::int64_t lanes = 0;
  train::StepMemory step;
};

std::vector<Memory> memories(const recipe::Recipe& recipe,
                             const std::vector<std::int64_t>& sample_shape,
                             const train::Ranks& ranks, std::int64_t asked) {
  std::vector<std::int64_t> choices = train::lanes_at_once_choices(recipe, ranks);
  if (asked > 0) choices = {std::min(asked, choices.front())};
  std::vector<Memory> all;
  train::StepWalk walk(recipe, sample_shape, ranks);
  for (const std::int64_t lanes : choices) {
    all.push_back({lanes, walk(lanes)});
    // Fewer lanes need no less any more.
    if (all.size() > 1 && all.back().step.total() >= all[all.size() - 2].step.total()) break;
  }
  return all;
}

// The same on every machine: not what fits.
Json json_of(const std::vector<Memory>& memories) {
  Json choices = Json::array();
  for (const auto& [lanes, step] : memories)
    choices.push_back({{"lanes_at_once", lanes},
                       {"step_bytes", step.total()},
                       {"state_bytes", step.state},
                       {"passes_bytes", step.passes},
                       {"exchange_bytes", step.exchange()}});
  return choices;
}

void print(const std::vector<Memory>& memories, int processes) {
  const auto left = ops::memory_left(processes);
  for (const auto& [lanes, step] : memories)
    print_line("# memory      ", counted(lanes, "lane"), " at once: ", train::to_text(step),
               left && !train::fits(step, *left) ? ", too much here" : "");
  if (left) print_line("# here        ", to_text(*left));
}

}  // namespace

void dry_run(const recipe::Recipe& recipe, const train::Ranks& ranks, std::int64_t lanes_at_once,
             bool json) {
  const std::unique_ptr<data::Dataset> dataset = data::open(recipe.data);
  const std::vector<std::int64_t> sample_shape = dataset->sample_shape();
  train::require_pictures_fit(recipe, sample_shape);
  if (recipe.evaluation.every > 0) train::IntervalEvaluation(recipe, *dataset);  // it is checked
  const Size size = size_of(recipe, sample_shape);
  const std::vector<Memory> choices = memories(recipe, sample_shape, ranks, lanes_at_once);
  const std::int64_t drawn = dataset->size() - recipe.data.holdout;  // what training draws from
  const Course course = course_of(recipe, drawn);
  const std::string id = recipe::id(recipe).hex();
  std::vector<std::string> warnings = recipe::warnings(recipe);
  std::ranges::move(train::warnings(recipe, *dataset), std::back_inserter(warnings));
  if (json) {
    print_json({{"id", id},
                {"recipe", recipe::canonical(recipe)},
                {"parameters", size.parameters},
                {"state_bytes", size.state_bytes},
                {"flops_per_step", size.step_flops},
                {"samples", course.samples},
                {"epochs", course.epochs},
                {"pictures", course.grids},
                {"checkpoints", course.saved},
                {"checkpoints_kept", course.kept},
                {"checkpoint_bytes", product(course.kept, size.state_bytes)},
                {"evaluations", course.evaluations},
                {"memory", json_of(choices)},
                {"warnings", warnings}});
    return;
  }
  print_lines(recipe::canonical(recipe));
  print_line("");
  print_line("# recipe id   ", id);
  print_line("# parameters  ", size.parameters);
  print_line("# state       ", human_bytes(static_cast<double>(size.state_bytes)),
             " in memory, the same in each checkpoint");
  print_line("# compute     about ", fixed(size.step_flops / 1e9, 2), " GFLOP a step");
  print_line("# training    ", counted(recipe.run.steps, "step"), ", ",
             counted(course.samples, "sample"), ", ", fixed(course.epochs, 2), " epochs of ",
             drawn);
  if (ops::tensors_device().is_cpu()) {
    const double least = least_seconds(size.step_flops);
    if (least < kLeastTold)
      print_line("# time        a few milliseconds a step, mostly overhead");
    else
      print_line(
          "# time        at least ", fixed(least, 3), " s a step and ",
          human_seconds(least * static_cast<double>(recipe.run.steps)),
          " in all on one thread here, usually two to three times that",
          course.grids + course.evaluations > 0 ? "; samples and evaluations come on top" : "");
  }
  if (course.grids > 0)
    print_line("# pictures    ", counted(course.grids, "grid"), " of ",
               counted(recipe.samples.count, "sample"));
  print_line("# checkpoints ", course.saved, " saved, ", course.kept, " kept in the end: ",
             human_bytes(static_cast<double>(product(course.kept, size.state_bytes))));
  if (course.evaluations > 0)
    print_line("# evaluation  ", counted(course.evaluations, "time"), " of ",
               counted(recipe.evaluation.samples, "sample"), ", every ",
               counted(recipe.evaluation.every, "step"), ", features ",
               recipe.evaluation.features_hash.substr(0, 12));
  print(choices, ranks.world);
  for (const std::string& line : warnings) print_line("# warning     ", line);
}

}  // namespace lockstep::cli
