// A GAN whose generator trains at multiples of discriminator_steps: what rests in between, and what
// says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lockstep/comm/single_rank.h"
#include "lockstep/core/error.h"
#include "lockstep/data/dataset.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/batches.h"
#include "lockstep/train/memory.h"
#include "lockstep/train/step.h"
#include "support/local_ranks.h"

namespace lockstep::train {
namespace {

using ::testing::ElementsAre;

recipe::Recipe turns(std::int64_t discriminator_steps, const std::vector<std::string>& more = {}) {
  std::vector<std::string> changes = {
      "objective.discriminator_steps=" + std::to_string(discriminator_steps),
      "generator.optimizer.ema_decay=0.5", "generator.optimizer.schedule=linear",
      "generator.optimizer.horizon=100"};
  changes.insert(changes.end(), more.begin(), more.end());
  return recipe::load(LOCKSTEP_SOURCE_DIR "/recipes/golden/toy-gan.toml", changes);
}

std::vector<std::string> names_of(const std::vector<std::pair<std::string, float>>& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  return names;
}

// The roots of the state's tensors whose names begin so, but for running statistics and singular
// vectors.
state::Leaves leaves_of(const Training& training, const std::string& role) {
  state::Leaves leaves;
  for (std::size_t i = 0; i < training.state.tensors.size(); ++i) {
    const std::string& name = training.state.tensors[i].name;
    if (name.starts_with(role + "/") && !name.starts_with(role + "/buffer/"))
      leaves.push_back(training.agreed->leaves[i]);
  }
  return leaves;
}

TEST(Turns, TheGeneratorTrainsAtMultiplesAndRestsInBetween) {
  const recipe::Recipe recipe = turns(3);
  const auto dataset = data::open(recipe.data);
  comm::SingleRank group;
  Training training = make_training(recipe, dataset->sample_shape(), {.world = 1});
  Batches batches(*dataset, recipe, training.plan, Rank(0));
  state::Leaves generator, discriminator;
  for (int n = 1; n <= 7; ++n) {
    const StepRecord record = step(training, group, std::ref(batches));
    const bool turn = n % 3 == 0;
    const std::vector<std::string> names =
        turn ? std::vector<std::string>{"discriminator", "generator"}
             : std::vector<std::string>{"discriminator"};
    EXPECT_EQ(names_of(record.entry.losses), names) << n;
    EXPECT_EQ(names_of(record.gradient_norms), names) << n;
    ASSERT_EQ(record.learning_rates.size(), names.size());
    // Rates are those of the step, as recipes count them.
    if (turn) {
      EXPECT_EQ(record.learning_rates[1].second,
                optim::learning_rate(training.trained[0].options, n));
    }
    const auto before = std::pair(generator, discriminator);
    generator = leaves_of(training, "generator");
    discriminator = leaves_of(training, "discriminator");
    EXPECT_NE(discriminator, before.second) << n;
    if (n > 1) {
      EXPECT_EQ(generator != before.first, turn) << n;
    }
  }
}

// No update reads it: it is hashed at the start of the step.
TEST(Turns, AChangeOfWhatRestsIsFound) {
  const recipe::Recipe recipe = turns(3);
  const auto dataset = data::open(recipe.data);
  comm::SingleRank group;
  for (const std::string changed : {"generator/param/output.bias", "generator/ema/output.bias"}) {
    Training training = make_training(recipe, dataset->sample_shape(), {.world = 1});
    Batches batches(*dataset, recipe, training.plan, Rank(0));
    step(training, group, std::ref(batches));
    const auto one = std::ranges::find(training.state.tensors, changed, &state::Named::name);
    ASSERT_NE(one, training.state.tensors.end()) << changed;
    one->tensor.mutable_data_ptr<float>()[1] += 1.0F;
    try {
      step(training, group, std::ref(batches));
      ADD_FAILURE() << changed;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kDiffer);
      EXPECT_THAT(error.what(), ::testing::HasSubstr(changed));
    }
  }
}

TEST(Turns, AreTheSameOnAnyRanks) {
  const recipe::Recipe recipe = turns(2, {"batch.lanes=5", "evidence.witness_rate=0.5"});
  const auto dataset = data::open(recipe.data);
  std::vector<std::vector<hash::Digest>> of_worlds;
  for (const int world : {1, 2, 3}) {
    for (const bool divided : {false, true}) {
      std::vector<hash::Digest> states;
      comm::run_local(world, [&](comm::Group& group) {
        Ranks ranks{.world = world};
        if (divided) ranks.keeps = group.rank();
        Training training = make_training(recipe, dataset->sample_shape(), ranks);
        Batches batches(*dataset, recipe, training.plan, group.rank());
        for (int n = 1; n <= 5; ++n) {
          const StepRecord record = step(training, group, std::ref(batches));
          if (group.rank() == Rank(0)) states.push_back(record.entry.state);
        }
      });
      of_worlds.push_back(states);
    }
  }
  for (const auto& states : of_worlds) EXPECT_EQ(states, of_worlds.front());
}

// The largest step is one in which both networks train.
TEST(Turns, MemoryIsThatOfAStepOfAllPhases) {
  const auto need = [](std::int64_t discriminator_steps) {
    const recipe::Recipe recipe = turns(
        discriminator_steps, {"generator.hidden=512", "generator.layers=4", "generator.latent=64"});
    StepWalk walk(recipe, {2}, {.world = 1}, {});
    const std::int64_t first = walk(1).total();
    EXPECT_LE(walk(1).total(), first);  // what networks prepared the first time is there
    return first;
  };
  EXPECT_EQ(need(7), need(1));
}

TEST(Turns, CountTheUpdatesOfTheRunBefore) {
  const std::string digest(64, 'a');
  recipe::Recipe recipe = turns(3);
  const auto names = [&](std::int64_t step) {
    std::vector<std::string> of_step;
    for (const auto& phase : recipe::phases(recipe, Step(step))) of_step.emplace_back(phase.name);
    return of_step;
  };
  EXPECT_THAT(names(1), ElementsAre("discriminator"));
  EXPECT_THAT(names(3), ElementsAre("discriminator", "generator"));
  EXPECT_EQ(recipe::first_of_all_phases(recipe), Step(3));
  recipe.run.start = "run";
  recipe.run.from.updates = 40;
  EXPECT_THAT(names(2), ElementsAre("discriminator", "generator"));
  EXPECT_THAT(names(3), ElementsAre("discriminator"));
  EXPECT_EQ(recipe::first_of_all_phases(recipe), Step(2));
  recipe.run.from.optimizer = "anew";
  EXPECT_THAT(names(3), ElementsAre("discriminator", "generator"));
}

}  // namespace
}  // namespace lockstep::train
