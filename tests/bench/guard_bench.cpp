// What the guard costs: CPU time of a training step with LibTorch's observer on and off, in turns.
//   guard_bench RECIPE [PAIRS]
#include <ATen/record_function.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "lockstep/core/text.h"
#include "lockstep/data/dataset.h"
#include "lockstep/ops/where.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/batches.h"
#include "lockstep/train/step.h"
#include "support/local_ranks.h"

namespace lockstep {
namespace {

// One thread: time that another process takes away does not count.
double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Naming a place, which goes on when the observer is off: a scope and the copy that an op keeps.
double seconds_to_name_a_place() {
  constexpr int kTimes = 1000000;
  const std::string module = "model/down0.block1.residual.conv1";
  const double start = cpu_seconds();
  std::size_t length = 0;
  for (int i = 0; i < kTimes; ++i) {
    const ops::Scope here(module);
    const std::string kept = ops::where().module;
    length += kept.size();
  }
  return length > 0 ? (cpu_seconds() - start) / kTimes : 0;
}

void measure(const std::string& path, int pairs, comm::Group& group) {
  const recipe::Recipe recipe = recipe::load(path, {"evidence.witness_rate=0"});
  const auto dataset = data::open(recipe.data);
  train::Training training = train::make_training(recipe, dataset->sample_shape(), {.world = 1});
  train::Batches batches(*dataset, recipe, training.plan, group.rank());
  const auto step = [&](bool observed) {
    const auto& plan = training.plan;
    const objective::Batch batch =
        batches(Draw(training.state.samples), plan.sample_count(group.rank()));
    const at::RecordFunctionGuard observer(observed);
    const double start = cpu_seconds();
    train::step(training, group, [&](Draw, std::int64_t) { return batch; });
    return cpu_seconds() - start;
  };
  step(true);
  std::vector<double> on, off, ratios;
  for (int i = 0; i < pairs; ++i) {  // on-off, off-on, …: a drift favours neither
    const bool first = i % 2 == 0;
    const double a = step(first), b = step(!first);
    on.push_back(first ? a : b);
    off.push_back(first ? b : a);
    ratios.push_back(on.back() / off.back());
  }
  std::printf("%s: %d pairs, CPU ms a step: %.2f guarded, %.2f unobserved (medians)\n",
              path.c_str(), pairs, median(on) * 1e3, median(off) * 1e3);
  std::printf("ratio: %.4f of medians, %.4f median of pairs, %.4f of the fastest steps\n",
              median(on) / median(off), median(ratios),
              *std::min_element(on.begin(), on.end()) / *std::min_element(off.begin(), off.end()));
  std::printf("naming a place: %.0f ns\n", seconds_to_name_a_place() * 1e9);
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: guard_bench RECIPE [PAIRS]\n");
    return 2;
  }
  const int pairs =
      std::max(1, static_cast<int>(lockstep::parse_int(argc == 3 ? argv[2] : "21").value_or(21)));
  lockstep::comm::run_local(
      1, [&](lockstep::comm::Group& group) { lockstep::measure(argv[1], pairs, group); });
}
