#include "dry_run.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "course.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/text.h"
#include "lockstep/data/dataset.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/recipe/load.h"
#include "lockstep/recipe/warnings.h"
#include "lockstep/train/interval.h"
#include "lockstep/train/memory.h"
#include "lockstep/train/picture.h"
#include "lockstep/train/run_folder.h"
#include "lockstep/train/warnings.h"
#include "output.h"

namespace lockstep::cli {
namespace {

constexpr double kLeastTold = 0.002;  // seconds of a step

// Seconds of an operation at the pace of a large matrix product, on one thread of this machine:
// nothing is faster.
double seconds_of_flop() {
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
  return best / (2.0 * kSide * kSide * kSide);
}

void print_time(const recipe::Recipe& recipe, const Size& size, const Course& course) {
  const double flop = seconds_of_flop(), step = flop * size.step_flops;
  if (step < kLeastTold)
    print_line("# time        a few milliseconds a step, mostly overhead");
  else
    print_line("# time        at least ", fixed(step, 3), " s a step and ",
               human_seconds(step * static_cast<double>(recipe.run.steps)),
               " in all on one thread here, usually two to three times that");
  const double made = flop * size.sample_flops * static_cast<double>(course.made);
  if (made >= 1)
    print_line("#             and at least ", human_seconds(made), " for ",
               counted(course.made, "sample"), " of pictures, evaluations and monitors, of ",
               counted(size.passes_per_sample, "pass", "passes"), " of a network each");
}

// A step's memory for a number of lanes at once.
struct Memory {
  std::int64_t lanes = 0;
  train::StepMemory step;
};

// And what rank 0 sends to the others, with any number of lanes at once.
std::pair<std::vector<Memory>, train::StepTraffic> memories(
    const recipe::Recipe& recipe, const std::vector<std::int64_t>& sample_shape,
    const train::Ranks& ranks, const train::Exchanges& exchanges, std::int64_t asked) {
  std::vector<std::int64_t> choices = train::lanes_at_once_choices(recipe, ranks);
  if (asked > 0) choices = {std::min(asked, choices.front())};
  std::vector<Memory> all;
  train::StepWalk walk(recipe, sample_shape, ranks, exchanges);
  for (const std::int64_t lanes : choices) {
    all.push_back({lanes, walk(lanes)});
    // Fewer lanes need no less any more.
    if (all.size() > 1 && all.back().step.total() >= all[all.size() - 2].step.total()) break;
  }
  return {std::move(all), walk.traffic()};
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

// What a run that has begun in the folder says against it.
std::vector<std::string> against_run(const recipe::Recipe& recipe,
                                     const std::filesystem::path& folder) {
  std::error_code absent;
  if (!std::filesystem::exists(train::RunFolder{folder}.recipe(), absent)) return {};
  try {
    const recipe::Recipe there = recipe::of_run(real_file_system(), folder);
    const std::string mine = recipe::canonical_bits(recipe), theirs = recipe::canonical_bits(there);
    if (mine != theirs)
      return {folder.string() + " is a run of another recipe, and `train` refuses that: " +
              recipe::first_difference(mine, theirs)};
    const auto ledger = ledger::read(real_file_system(), train::RunFolder{folder}.ledger(),
                                     ledger::TornTail::kDrop);
    return train::withdrawn(there, ledger.last(), recipe);
  } catch (const Error& error) {
    return {error.message()};
  }
}

}  // namespace

void dry_run(const recipe::Recipe& recipe, const std::filesystem::path& folder,
             const train::Ranks& ranks, const train::Exchanges& exchanges,
             std::int64_t lanes_at_once, bool json) {
  const std::unique_ptr<data::Dataset> dataset = data::open(recipe.data);
  const std::vector<std::int64_t> sample_shape = dataset->sample_shape();
  train::require_pictures_fit(recipe, sample_shape);
  std::optional<train::IntervalEvaluation> evaluation;  // its classifier is beside steps
  if (recipe.evaluation.every > 0) evaluation.emplace(recipe, *dataset, folder);
  const std::int64_t classifier_bytes = evaluation ? evaluation->classifier_bytes() : 0;
  const Size size = size_of(recipe, sample_shape);
  const auto [choices, traffic] = memories(recipe, sample_shape, ranks, exchanges, lanes_at_once);
  const std::int64_t drawn = dataset->size() - recipe.data.holdout;  // what training draws from
  const Course course = course_of(recipe, drawn);
  const std::string id = recipe::id(recipe).hex();
  std::vector<std::string> warnings = recipe::warnings(recipe);
  std::ranges::move(train::warnings(recipe, *dataset), std::back_inserter(warnings));
  std::ranges::move(against_run(recipe, folder), std::back_inserter(warnings));
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
                {"checkpoint_bytes", bytes_of(course.kept, size)},
                {"evaluations", course.evaluations},
                {"samples_made", course.made},
                {"passes_per_sample", size.passes_per_sample},
                {"flops_per_sample", size.sample_flops},
                {"classifier_bytes", classifier_bytes},
                {"memory", json_of(choices)},
                {"sent_bytes_per_step", traffic.sent},
                {"warnings", warnings}});
    return;
  }
  print_lines(recipe::canonical(recipe));
  print_line("");
  print_line("# recipe id   ", id);
  print_line("# parameters  ", size.parameters);
  print_line("# state       ", human_bytes(static_cast<double>(size.state_bytes)),
             " in memory, the same tensors in each checkpoint");
  print_line("# compute     about ", fixed(size.step_flops / 1e9, 2), " GFLOP a step");
  print_line("# training    ", counted(recipe.run.steps, "step"), ", ",
             counted(course.samples, "sample"), ", ", fixed(course.epochs, 2), " epochs of ",
             drawn);
  if (ops::tensors_device().is_cpu()) print_time(recipe, size, course);
  if (course.grids > 0)
    print_line("# pictures    ", counted(course.grids, "grid"), " of ",
               counted(recipe.samples.count, "sample"));
  print_line("# checkpoints ", course.saved, " saved, ", course.kept,
             " kept in the end: ", human_bytes(static_cast<double>(bytes_of(course.kept, size))));
  if (course.evaluations > 0)
    print_line("# evaluation  ", counted(course.evaluations, "time"), " of ",
               counted(recipe.evaluation.samples, "sample"), ", every ",
               counted(recipe.evaluation.every, "step"), ", features ",
               recipe.evaluation.features_hash.substr(0, 12),
               "; the run's copy of that classifier takes ",
               human_bytes(static_cast<double>(classifier_bytes)));
  print(choices, ranks.world);
  if (traffic.sent > 0)
    print_line("# exchange    rank 0 sends about ", human_bytes(static_cast<double>(traffic.sent)),
               " a step to the others, at most ", human_bytes(static_cast<double>(traffic.longest)),
               " to one at once");
  for (const std::string& line : warnings) print_line("# warning     ", line);
}

}  // namespace lockstep::cli
