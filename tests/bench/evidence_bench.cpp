// What evidence costs: digests and checkpoints in percent of a training step, for the recipe given.
//   evidence_bench RECIPE THREADS
#include <algorithm>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <functional>
#include <vector>

#include "lockstep/checkpoint/store.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/text.h"
#include "lockstep/data/dataset.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/batches.h"
#include "lockstep/train/step.h"
#include "support/local_ranks.h"

namespace lockstep {
namespace {

constexpr int kRepetitions = 9;

double median_seconds(const std::function<void()>& body) {
  std::vector<double> seconds;
  for (int i = 0; i < kRepetitions; ++i) {
    const double start = monotonic_seconds();
    body();
    seconds.push_back(monotonic_seconds() - start);
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRepetitions / 2, seconds.end());
  return seconds[kRepetitions / 2];
}

// The updates of all networks, as a step does them: with leaves of what they read and write, or
// without.
class AllUpdates {
 public:
  explicit AllUpdates(train::Training& training) {
    for (train::Trained& one : training.trained) {
      if (!one.optimizer) continue;
      for (const at::Tensor& parameter : one.parameters)
        gradients_.push_back(ops::filled(parameter.sizes(), 1e-3F));
      auto tensors = one.optimizer->tensors(
          one.parameters, {gradients_.end() - std::ssize(one.parameters), gradients_.end()});
      for (std::vector<at::Tensor>& average : one.averages)
        for (std::size_t i = 0; i < average.size(); ++i)
          tensors[i].averages.push_back({{ops::write(average[i])}, 0.001F});
      networks_.push_back({one.optimizer->rule(100, 1e-4, 0.01), tensors, tensors});
      for (numerics::UpdatedTensor& tensor : networks_.back().with_leaves) {
        take_leaves(tensor.n, tensor.p);
        for (auto& slot : tensor.slots) take_leaves(tensor.n, slot);
        for (auto& average : tensor.averages) take_leaves(tensor.n, average.e);
      }
    }
  }

  void operator()(bool with_leaves) const {
    for (const Network& one : networks_)
      ops::device().update(one.rule, with_leaves ? one.with_leaves : one.plain);
  }

 private:
  struct Network {
    numerics::UpdateRule rule;
    std::vector<numerics::UpdatedTensor> plain, with_leaves;
  };

  void take_leaves(std::int64_t n, numerics::Updated& array) {
    const std::size_t tiles = hash::leaf_count(sizeof(float) * static_cast<std::size_t>(n));
    array.before = leaves_.emplace_back(tiles).data();
    array.after = leaves_.emplace_back(tiles).data();
  }

  std::vector<at::Tensor> gradients_;
  std::vector<Network> networks_;
  std::deque<std::vector<hash::Leaf>> leaves_;
};

void measure(const std::string& recipe_path, comm::Group& group) {
  const recipe::Recipe recipe = recipe::load(recipe_path);
  const auto dataset = data::open(recipe.data);
  train::Training training = train::make_training(recipe, dataset->sample_shape(), {.world = 1});
  train::Batches batches(*dataset, recipe, training.plan, group.rank());
  const double step = median_seconds([&] { train::step(training, group, std::ref(batches)); });

  double plain = 0, with_leaves = 0;
  {
    const AllUpdates updates(training);
    plain = median_seconds([&] { updates(false); });
    with_leaves = median_seconds([&] { updates(true); });
  }

  const auto folder =
      std::filesystem::temp_directory_path() /
      ("evidence_bench-" + std::to_string(static_cast<std::int64_t>(unix_seconds())));
  checkpoint::Saver saver(real_file_system(), folder,
                          {.every = 1, .keep_last = 1, .keep_every = 0, .last = Step(0)});
  const checkpoint::Meta meta{.recipe = {},
                              .data = {},
                              .semantics = 0,
                              .chain = {},
                              .state = state::digest(training.state).root,
                              .sample_shape = {28, 28, 1},
                              .recipe_text = "none"};
  const auto share = [&](const char* what, double seconds) {
    std::printf("%-44s %8.2f ms  %6.3f %% of a step\n", what, seconds * 1e3, seconds / step * 100);
  };
  std::printf("state %.1f MB\n", static_cast<double>(training.state.bytes()) / 1e6);
  share("step", step);
  share("updates and averages, without hashes", plain);
  share("hashes before and after, in the updates", with_leaves - plain);
  // A step hands its leaves over.
  std::vector<state::Leaves> leaves(kRepetitions, state::leaves(training.state));
  share("tree over the hashes", median_seconds([&] {
          training.agreed = state::digest(training.state, std::move(leaves.back()));
          leaves.pop_back();
        }));
  share("digest of the whole state, read again",
        median_seconds([&] { state::digest(training.state); }));
  share("finite check of the whole state",
        median_seconds([&] { state::first_non_finite(training.state); }));
  share("commit: SHA-256 tree (every 100 steps)",
        median_seconds([&] { state::commit(training.state); }));
  std::vector<double> blocked;
  for (int i = 0; i < kRepetitions; ++i) {
    const double start = monotonic_seconds();
    saver.save(meta, training.state);
    blocked.push_back(monotonic_seconds() - start);
    saver.wait();
  }
  std::nth_element(blocked.begin(), blocked.begin() + kRepetitions / 2, blocked.end());
  share("checkpoint: trainer blocked (copy)", blocked[kRepetitions / 2]);
  share("checkpoint: durable (write, hash, fsync)", median_seconds([&] {
          saver.save(meta, training.state);
          saver.wait();
        }));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: evidence_bench RECIPE THREADS\n");
    return 2;
  }
  lockstep::comm::run_local(1, [&](lockstep::comm::Group& group) {
    lockstep::numerics::Cpu cpu(static_cast<int>(lockstep::parse_int(argv[2]).value_or(1)));
    const lockstep::ops::DeviceScope here(cpu);
    lockstep::measure(argv[1], group);
  });
}
