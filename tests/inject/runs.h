// Runs into which faults are put: a small GAN of several ranks in this process, step by step.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "inject/injector.h"
#include "lockstep/comm/queue.h"
#include "lockstep/core/error.h"
#include "lockstep/data/dataset.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/batches.h"
#include "lockstep/train/step.h"
#include "support/local_ranks.h"

namespace lockstep::train {

inline constexpr std::int64_t kSteps = 3;

inline recipe::Recipe recipe_with(double witness_rate, int seed = 11, int commit_every = 0) {
  return recipe::load(
      LOCKSTEP_SOURCE_DIR "/recipes/golden/toy-gan.toml",
      {"generator.hidden=8", "generator.layers=1", "discriminator.hidden=8",
       "discriminator.layers=1", "generator.optimizer.lr=0.01", "run.seed=" + std::to_string(seed),
       "evidence.witness_rate=" + std::to_string(witness_rate),
       "evidence.commit_every=" + std::to_string(commit_every)});
}

// Who trains: how many ranks, and whether they divide the optimisers' slots.
struct Setting {
  int world;
  bool sharded;
  Ranks ranks(Rank rank) const {
    return {.world = world, .keeps = sharded ? std::optional(rank) : std::nullopt};
  }
};
inline void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.world << (setting.sharded ? " ranks, sharded" : " ranks");
}

// What each rank said when it ended; empty where it came to the end.
struct Ending {
  std::vector<std::string> said;
  std::vector<std::int64_t> at;  // steps it had completed
  hash::Digest state;            // rank 0's after the last of them
};

// between(training, rank): called before each step.
using Between = std::function<void(Training&, Rank)>;
// One step more than are struck: what rests in a slot is found in front of the next step.
inline Ending train(const recipe::Recipe& recipe, const Setting& setting,
                    const Between& between = {}) {
  const int world = setting.world;
  const auto dataset = data::open(recipe.data);
  Ending ending{std::vector<std::string>(static_cast<std::size_t>(world)),
                std::vector<std::int64_t>(static_cast<std::size_t>(world)),
                {}};
  try {
    comm::run_local(world, [&](comm::Group& inner) {
      comm::Queue group(inner);
      Training training =
          make_training(recipe, dataset->sample_shape(), setting.ranks(group.rank()));
      Batches batches(*dataset, recipe, training.plan, group.rank());
      const auto r = static_cast<std::size_t>(group.rank().value);
      try {
        while (training.state.step <= Step(kSteps)) {
          inject::begin_step(group.rank().value, training.state.step.value + 1);
          if (between) between(training, group.rank());
          step(training, group, std::ref(batches));
          ending.at[r] = training.state.step.value;
          if (r == 0) ending.state = training.agreed->root;
        }
      } catch (const Error& error) {
        ending.said[r] = error.what();
        group.abort(error.within("rank " + std::to_string(group.rank().value)));
        throw;
      }
    });
  } catch (const Error&) {  // noted above
  }
  return ending;
}

// Names of the tensors of which the rank holds something.
inline std::vector<std::string> names_held(const Setting& setting, Rank rank) {
  const recipe::Recipe recipe = recipe_with(0);
  std::vector<std::string> names;
  for (const auto& named : make_training(recipe, {2}, setting.ranks(rank)).state.tensors)
    if (named.tensor.numel() > 0) names.push_back(named.name);
  return names;
}

// Tensors of a step's updates, in their order. `all`: those that the rank's updates read, by name;
// else the paths of the parameters that have gradients.
inline std::vector<std::string> names_updated(const Setting& setting, Rank rank, bool all) {
  const recipe::Recipe recipe = recipe_with(0);
  const Training training = make_training(recipe, {2}, setting.ranks(rank));
  std::vector<std::string> names;
  for (const char* const role : {"discriminator", "generator"}) {
    const Trained& one = *std::ranges::find(training.trained, role, &Trained::role);
    const auto name = [&](std::size_t number) { return training.state.tensors[number].name; };
    const std::size_t count = one.parameters.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (one.updated[i].numel() == 0) continue;
      const std::string parameter = name(one.numbers.parameters + i);
      names.push_back(all ? parameter : parameter.substr(parameter.find("/param/") + 7));
      for (std::size_t s = 0; all && s < one.optimizer->slots().size(); ++s)
        names.push_back(name(one.numbers.slots + s * count + i));
    }
    for (std::size_t i = 0; all && i < one.averages.size() * count; ++i)
      names.push_back(name(one.numbers.averages + i));
  }
  return names;
}

inline std::string text(std::int64_t number) {
  return std::to_string(number);
}

}  // namespace lockstep::train
