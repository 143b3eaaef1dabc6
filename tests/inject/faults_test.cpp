// Faults of every kind, one a run, in real steps of several ranks: each is found in its step or the
// next, and the message names where it struck. LOCKSTEP_FAULTS sets how many (docs/faults.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>

#include "inject/injector.h"
#include "lockstep/comm/local.h"
#include "lockstep/comm/queue.h"
#include "lockstep/core/error.h"
#include "lockstep/data/dataset.h"
#include "lockstep/ops/record.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/step.h"
#include "train/batches.h"

namespace lockstep::train {
namespace {

using inject::Fault;
using inject::Pattern;
using inject::Place;
using testing::HasSubstr;

constexpr std::int64_t kSteps = 3;

recipe::Recipe recipe_with(double witness_rate) {
  return recipe::load(LOCKSTEP_SOURCE_DIR "/recipes/golden/toy-gan.toml",
                      {"generator.hidden=8", "generator.layers=1", "discriminator.hidden=8",
                       "discriminator.layers=1", "generator.optimizer.lr=0.01",
                       "evidence.witness_rate=" + std::to_string(witness_rate)});
}

// What each rank said when it ended; empty where it came to the end.
struct Ending {
  std::vector<std::string> said;
  std::vector<std::int64_t> at;  // steps it had completed
};

// between(training, rank): called before each step.
using Between = std::function<void(Training&, Rank)>;
Ending train(const recipe::Recipe& recipe, int world, const Between& between = {}) {
  const auto dataset = data::open(recipe.data);
  Ending ending{std::vector<std::string>(static_cast<std::size_t>(world)),
                std::vector<std::int64_t>(static_cast<std::size_t>(world))};
  try {
    comm::run_local(world, [&](comm::Group& inner) {
      comm::Queue group(inner);
      Training training = make_training(recipe, dataset->sample_shape(), {.world = world});
      Batches batches(*dataset, recipe, training.plan, group.rank());
      const auto r = static_cast<std::size_t>(group.rank().value);
      try {
        while (training.state.step < Step(kSteps)) {
          inject::begin_step(group.rank().value, training.state.step.value + 1);
          if (between) between(training, group.rank());
          step(training, group, std::ref(batches));
          ending.at[r] = training.state.step.value;
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

std::vector<std::string> names_of_state() {
  const recipe::Recipe recipe = recipe_with(0);
  std::vector<std::string> names;
  for (const auto& named : make_training(recipe, {2}, {.world = 1}).state.tensors)
    names.push_back(named.name);
  return names;
}

std::string text(std::int64_t number) {
  return std::to_string(number);
}

// The faults of a campaign: kind by kind, drawn from one seed.
class Campaign {
 public:
  explicit Campaign(std::uint64_t seed) : state_(seed) {}
  std::uint64_t draw(std::uint64_t below) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return (state_ >> 33) % below;
  }
  Fault fault(Place place, int world) {
    return {.place = place,
            .rank = static_cast<std::int64_t>(draw(static_cast<std::uint64_t>(world))),
            .step = 1 + static_cast<std::int64_t>(draw(kSteps)),
            .choice = draw(1 << 20),
            .pattern = static_cast<Pattern>(draw(3)),
            .bits = draw(1 << 30)};
  }

 private:
  std::uint64_t state_;
};

int faults_a_kind() {
  const char* asked = std::getenv("LOCKSTEP_FAULTS");
  return (asked ? std::atoi(asked) : 100) / 6 + 1;  // six kinds
}

// One fault at a place that product code names.
Ending struck_by(const Fault& fault, int world, double rate, std::uint64_t& number) {
  inject::begin_step(fault.rank, 1);
  train(recipe_with(rate), world);  // undisturbed: counts the arrays of the last step
  const std::uint64_t arrays = inject::counted(fault.place, fault.rank);
  EXPECT_GT(arrays, 0u);
  inject::arm(fault, arrays);
  const Ending ending = train(recipe_with(rate), world);
  const inject::Struck struck = inject::disarm();
  EXPECT_TRUE(struck.happened);
  number = struck.number;
  return ending;
}

void expect_all_stopped(const Ending& ending, const Fault& fault) {
  for (std::size_t r = 0; r < ending.said.size(); ++r) {
    EXPECT_NE(ending.said[r], "") << "rank " << r;
    EXPECT_LE(ending.at[r], fault.step) << "rank " << r;
  }
}

class Faults : public testing::TestWithParam<int> {
 protected:
  const int world = GetParam();
};
INSTANTIATE_TEST_SUITE_P(World, Faults, testing::Values(2, 3, 4));

TEST_P(Faults, InTheNewStateNameTensorAndRank) {
  const std::vector<std::string> names = names_of_state();
  Campaign campaign(101);
  for (int i = 0; i < faults_a_kind(); ++i) {
    const Fault fault = campaign.fault(Place::kState, world);
    std::uint64_t number = 0;
    const Ending ending = struck_by(fault, world, 0, number);
    expect_all_stopped(ending, fault);
    for (const std::string& said : ending.said) {
      EXPECT_THAT(said, HasSubstr("step " + text(fault.step)));
      EXPECT_THAT(said, HasSubstr("rank " + text(fault.rank)));
      EXPECT_THAT(said, HasSubstr(names[number] + ", elements "));
      if (world > 2) {
        EXPECT_THAT(said, HasSubstr("rank " + text(fault.rank) + " holds another state"));
      }
    }
  }
}

TEST_P(Faults, InTheStateAtRestNameTensorAndRank) {
  const std::vector<std::string> names = names_of_state();
  Campaign campaign(102);
  for (int i = 0; i < faults_a_kind(); ++i) {
    const Fault fault = campaign.fault(Place::kState, world);
    const std::size_t tensor = fault.choice % names.size();
    const Ending ending = train(recipe_with(0), world, [&](Training& training, Rank rank) {
      // Before the first step nothing has been agreed yet.
      if (rank != Rank(fault.rank) || training.state.step.value != fault.step % kSteps ||
          !training.agreed)
        return;
      at::Tensor& struck = training.state.tensors[tensor].tensor;
      inject::flip(fault.pattern, fault.bits, ops::write(struck), struck.numel());
    });
    if (fault.step % kSteps == 0) continue;  // struck at step 0: see the comment above
    for (const std::string& said : ending.said) {
      EXPECT_THAT(said, HasSubstr("step " + text(fault.step + 1) + ": the state changed since"));
      EXPECT_THAT(said, HasSubstr(names[tensor] + ", elements "));
    }
    const auto other = static_cast<std::size_t>((fault.rank + 1) % world);
    EXPECT_THAT(ending.said[other], HasSubstr("rank " + text(fault.rank) + ": step"));
  }
}

TEST_P(Faults, InWhatArrivesNameSenderAndReceiver) {
  for (const Place place : {Place::kArrived, Place::kGathered, Place::kStatistics}) {
    Campaign campaign(103 + static_cast<std::uint64_t>(place));
    for (int i = 0; i < faults_a_kind(); ++i) {
      const Fault fault = campaign.fault(place, world);
      std::uint64_t number = 0;
      const Ending ending = struck_by(fault, world, 0, number);
      expect_all_stopped(ending, fault);
      for (const std::string& said : ending.said) {
        EXPECT_THAT(said, HasSubstr("step " + text(fault.step)));
        EXPECT_THAT(said, HasSubstr("what arrived at rank " + text(fault.rank) + " is not what"));
        EXPECT_THAT(said, HasSubstr(place == Place::kStatistics ? "batch statistics of generator/"
                                                                : ", elements "));
      }
    }
  }
}

// The gradient is wrong before anything is known of it: only computing it again tells.
TEST_P(Faults, InAGradientAreFoundByWitnesses) {
  Campaign campaign(104);
  for (int i = 0; i < faults_a_kind(); ++i) {
    const Fault fault = campaign.fault(Place::kGradient, world);
    std::uint64_t number = 0;
    const Ending ending = struck_by(fault, world, 1, number);
    expect_all_stopped(ending, fault);
    for (const std::string& said : ending.said) {
      EXPECT_THAT(said, HasSubstr("step " + text(fault.step)));
      EXPECT_THAT(said, HasSubstr("rank " + text(fault.rank) + " is the odd one"));
      EXPECT_THAT(said, testing::AnyOf(HasSubstr("gradient of "), HasSubstr("the loss")));
    }
  }
}

TEST(Witnesses, FindTheShareOfWrongGradientsThatTheRecipeSets) {
  for (const double rate : {0.0, 0.25}) {
    Campaign campaign(105);
    const int faults = 5 * faults_a_kind();
    int found = 0;
    for (int i = 0; i < faults; ++i) {
      Fault fault = campaign.fault(Place::kGradient, 6);  // a lane a rank: one lane is wrong
      fault.pattern = Pattern::kOneBit;
      std::uint64_t number = 0;
      found += struck_by(fault, 6, rate, number).said[0].find("its witness") != std::string::npos;
    }
    std::cout << found << " of " << faults << " wrong gradients were found at a witness rate of "
              << rate << "\n";
    // Four standard deviations of the binomial; the draws are fixed by their seeds.
    EXPECT_LE(std::abs(found - rate * faults), 4 * std::sqrt(rate * (1 - rate) * faults));
  }
}

// One rank alone watches itself: what happens once is found.
TEST(Witnesses, ARankAloneFindsWhatDoesNotHappenTwice) {
  Campaign campaign(106);
  const Fault fault = campaign.fault(Place::kGradient, 1);
  std::uint64_t number = 0;
  const Ending ending = struck_by(fault, 1, 1, number);
  EXPECT_THAT(ending.said[0], HasSubstr("rank 0 is the odd one: 2 of 3 computations agree"));
}

}  // namespace
}  // namespace lockstep::train
