// Faults of every kind, one a run, in real steps of several ranks: each is found in its step or the
// next, and the message names where it struck. LOCKSTEP_FAULTS sets how many (docs/faults.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <tuple>

#include "inject/injector.h"
#include "inject/runs.h"
#include "lockstep/core/error.h"
#include "lockstep/ops/record.h"
#include "lockstep/train/step.h"

namespace lockstep::train {
namespace {

using inject::Fault;
using inject::Pattern;
using inject::Place;
using testing::HasSubstr;
using testing::Not;

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
  return (asked ? std::atoi(asked) : 100) / 6 + 1;  // 17 if nobody asks
}

// For people and docs/evidence.md.
void tell(const char* what, const Setting& setting) {
  std::cout << faults_a_kind() << " faults in " << what << ", ";
  PrintTo(setting, &std::cout);
  std::cout << (testing::Test::HasFailure() ? ": NOT all" : ": all") << " stopped and named\n";
}

// Of the place and rank, in the last step of an undisturbed run.
std::uint64_t arrays_of(const Fault& fault, const Setting& setting, double rate, int seed) {
  static std::map<std::tuple<Place, std::int64_t, int, bool, double, int>, std::uint64_t> known;
  std::uint64_t& arrays =
      known[{fault.place, fault.rank, setting.world, setting.sharded, rate, seed}];
  if (arrays == 0) {
    inject::begin_step(fault.rank, 1);
    train(recipe_with(rate, seed), setting);
    arrays = inject::counted(fault.place, fault.rank);
    EXPECT_GT(arrays, 0u);
  }
  return arrays;
}

// One fault at a place that product code names, in the run of a seed.
Ending struck_by(const Fault& fault, const Setting& setting, double rate, std::uint64_t& number,
                 int seed = 11) {
  const std::uint64_t arrays = arrays_of(fault, setting, rate, seed);
  const recipe::Recipe recipe = recipe_with(rate, seed);
  inject::arm(fault, arrays);
  const Ending ending = train(recipe, setting);
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

class Faults : public testing::TestWithParam<Setting> {
 protected:
  const Setting setting = GetParam();
  const int world = setting.world;
};
INSTANTIATE_TEST_SUITE_P(Settings, Faults,
                         testing::Values(Setting{2, false}, Setting{3, false}, Setting{4, false},
                                         Setting{2, true}, Setting{3, true}));

// By the rank itself, in step `step`.
void expect_found_at_rest(const Ending& ending, const Fault& fault, std::int64_t step,
                          const std::string& name) {
  for (const std::string& said : ending.said) {
    EXPECT_THAT(said, HasSubstr("step " + text(step) + ": the state changed since"));
    EXPECT_THAT(said, HasSubstr(name + ", elements "));
  }
  const auto other = static_cast<std::size_t>(fault.rank + 1) % ending.said.size();
  EXPECT_THAT(ending.said[other], HasSubstr("rank " + text(fault.rank) + ": step"));
}

// By comparison with the other ranks, in the fault's step.
void expect_found_by_all(const Ending& ending, const Fault& fault, int world,
                         const std::string& name) {
  for (const std::string& said : ending.said) {
    EXPECT_THAT(said, HasSubstr("step " + text(fault.step)));
    EXPECT_THAT(said, HasSubstr("rank " + text(fault.rank)));
    EXPECT_THAT(said, HasSubstr(name + ", elements "));
    EXPECT_THAT(said, HasSubstr(" instead of "));
    const std::int64_t odd = world > 2 ? fault.rank : 1;  // of two, nobody knows
    EXPECT_THAT(said, HasSubstr("rank " + text(odd) + " holds another state than rank "));
  }
}

TEST_P(Faults, InTheNewStateNameTensorAndRank) {
  Campaign campaign(101);
  for (int i = 0; i < faults_a_kind(); ++i) {
    const Fault fault = campaign.fault(Place::kState, world);
    std::uint64_t number = 0;
    const Ending ending = struck_by(fault, setting, 0, number);
    expect_all_stopped(ending, fault);
    const std::string name = names_held(setting, Rank(fault.rank))[number];
    if (name.find("/buffer/") == name.npos) {  // hashed in its update: found in the next step
      expect_found_at_rest(ending, fault, fault.step + 1, name);
      continue;
    }
    expect_found_by_all(ending, fault, world, name);
  }
  tell("the new state", setting);
}

// On a rank whose update gets another gradient than the others', all that it writes differs.
TEST_P(Faults, InASumNameTensorAndRank) {
  if (setting.sharded)
    GTEST_SKIP() << "NOT PROVED: nobody compares the update of a slice: it has one holder";
  const std::vector<std::string> paths = names_updated(setting, Rank(0), false);
  Campaign campaign(107);
  const hash::Digest undisturbed = train(recipe_with(0), setting).state;
  int found = 0;
  for (int i = 0; i < faults_a_kind(); ++i) {
    const Fault fault = campaign.fault(Place::kSum, world);
    std::uint64_t number = 0;
    const Ending ending = struck_by(fault, setting, 0, number);
    if (ending.said[0].empty()) {  // rounded away
      EXPECT_EQ(ending.state, undisturbed);
      continue;
    }
    ++found;
    expect_all_stopped(ending, fault);
    expect_found_by_all(ending, fault, world, paths[number]);
  }
  EXPECT_GT(2 * found, faults_a_kind());
  tell("a rank's summed gradients, but for those that are rounded away", setting);
}

TEST_P(Faults, DuringAStepInWhatItsUpdatesReadNameTensorAndRank) {
  Campaign campaign(108);
  for (int i = 0; i < faults_a_kind(); ++i) {
    const Fault fault = campaign.fault(Place::kHeld, world);
    std::uint64_t number = 0;
    const Ending ending = struck_by(fault, setting, 0, number);
    expect_all_stopped(ending, fault);
    const std::string name = names_updated(setting, Rank(fault.rank), true)[number];
    expect_found_at_rest(ending, fault, fault.step, name);
  }
  tell("the state during a step", setting);
}

TEST_P(Faults, InTheStateAtRestNameTensorAndRank) {
  Campaign campaign(102);
  for (int i = 0; i < faults_a_kind(); ++i) {
    const Fault fault = campaign.fault(Place::kState, world);
    const std::vector<std::string> names = names_held(setting, Rank(fault.rank));
    const std::string& name = names[fault.choice % names.size()];
    const Ending ending = train(recipe_with(0), setting, [&](Training& training, Rank rank) {
      if (rank != Rank(fault.rank) || training.state.step != Step(fault.step)) return;
      for (state::Named& named : training.state.tensors) {
        if (named.name != name) continue;
        inject::flip(fault.pattern, fault.bits, ops::write(named.tensor), named.tensor.numel());
      }
    });
    expect_found_at_rest(ending, fault, fault.step + 1, name);
  }
  tell("the state at rest", setting);
}

TEST_P(Faults, InWhatArrivesNameSenderAndReceiver) {
  for (const Place place : {Place::kArrived, Place::kGathered, Place::kStatistics}) {
    Campaign campaign(103 + static_cast<std::uint64_t>(place));
    for (int i = 0; i < faults_a_kind(); ++i) {
      const Fault fault = campaign.fault(place, world);
      std::uint64_t number = 0;
      const Ending ending = struck_by(fault, setting, 0, number);
      expect_all_stopped(ending, fault);
      for (const std::string& said : ending.said) {
        EXPECT_THAT(said, HasSubstr("step " + text(fault.step)));
        EXPECT_THAT(said, HasSubstr("what arrived at rank " + text(fault.rank) + " is not what"));
        if (place == Place::kStatistics) {
          EXPECT_THAT(said, testing::AnyOf(HasSubstr("batch statistics of generator/"),
                                           HasSubstr("sums of squares of gradients")));
        } else {
          EXPECT_THAT(said, HasSubstr(", elements "));
        }
      }
    }
  }
  tell("contributions, as many in sums, as many in statistics", setting);
}

// The gradient is wrong before anything is known of it: only computing it again tells.
TEST_P(Faults, InAGradientAreFoundByWitnesses) {
  Campaign campaign(104);
  for (int i = 0; i < faults_a_kind(); ++i) {
    const Fault fault = campaign.fault(Place::kGradient, world);
    std::uint64_t number = 0;
    const Ending ending = struck_by(fault, setting, 1, number);
    expect_all_stopped(ending, fault);
    for (const std::string& said : ending.said) {
      EXPECT_THAT(said, HasSubstr("step " + text(fault.step)));
      EXPECT_THAT(said, HasSubstr("rank " + text(fault.rank) + " is the odd one"));
      EXPECT_THAT(said, testing::AnyOf(HasSubstr("gradient of "), HasSubstr("the loss")));
    }
  }
  tell("gradients, all lanes witnessed", setting);
}

TEST(Witnesses, FindTheShareOfWrongGradientsThatTheRecipeSets) {
  for (const double rate : {0.0, 0.25}) {
    Campaign campaign(105);
    const int faults = (rate > 0 ? 5 : 1) * faults_a_kind();  // a share wants many
    int found = 0;
    for (int i = 0; i < faults; ++i) {
      Fault fault = campaign.fault(Place::kGradient, 6);  // a lane a rank: one lane is wrong
      fault.pattern = Pattern::kOneBit;
      std::uint64_t number = 0;
      // The seed decides who is witnessed when: a run each, or the share is that of one run.
      const Ending ending = struck_by(fault, {6, false}, rate, number, i + 1);
      found += ending.said[0].find("its witness") != std::string::npos;
    }
    std::cout << found << " of " << faults << " wrong gradients were found at a witness rate of "
              << rate << "\n";
    // Four standard deviations of the binomial; the draws are fixed by their seeds.
    EXPECT_LE(std::abs(found - rate * faults), 4 * std::sqrt(rate * (1 - rate) * faults));
  }
}

// A lane that two ranks compute from different parameters differs, too; whose have changed says so.
TEST(Witnesses, DoNotHideThatAStateChanged) {
  const std::string name = "generator/param/" + names_updated({3, false}, Rank(0), false).back();
  const Ending ending = train(recipe_with(1), {3, false}, [&](Training& training, Rank rank) {
    if (rank != Rank(1) || training.state.step != Step(2)) return;
    for (state::Named& named : training.state.tensors)
      if (named.name == name) ops::write(named.tensor)[0] += 1;
  });
  EXPECT_THAT(ending.said[0], HasSubstr("its witness, computed different bits; rank 1 is the odd"));
  EXPECT_THAT(ending.said[1], HasSubstr("step 3: the state changed since"));
  EXPECT_THAT(ending.said[1], HasSubstr(name + ", elements 0 to "));
}

// A commit is of the bytes at the step's end, the digest of those that the updates wrote.
TEST(Commits, AreOfWhatTheUpdatesWrote) {
  const recipe::Recipe recipe = recipe_with(0, 11, /*commit_every=*/2);
  const Setting alone{1, false};
  inject::begin_step(0, 1);
  train(recipe, alone);
  const std::vector<std::string> names = names_held(alone, Rank(0));
  const auto slot = static_cast<std::uint64_t>(
      std::ranges::find_if(names, [](const auto& name) { return name.find("/v/") != name.npos; }) -
      names.begin());
  inject::arm({.place = Place::kState, .rank = 0, .step = 2, .choice = slot}, names.size());
  const Ending ending = train(recipe, alone);
  EXPECT_TRUE(inject::disarm().happened);
  EXPECT_EQ(ending.at[0], 1);
  EXPECT_THAT(ending.said[0], HasSubstr("step 2: the state changed since"));
  EXPECT_THAT(ending.said[0], HasSubstr(names[slot] + ", elements "));
}

// One rank alone watches itself: what happens once is found.
TEST(Witnesses, ARankAloneFindsWhatDoesNotHappenTwice) {
  Campaign campaign(106);
  const Fault fault = campaign.fault(Place::kGradient, 1);
  std::uint64_t number = 0;
  const Ending ending = struck_by(fault, {1, false}, 1, number);
  EXPECT_THAT(ending.said[0], HasSubstr("rank 0 is the odd one: 2 of 3 computations agree"));
}

// What an update noted before it failed is no evidence against the state.
TEST(Failures, OfADeviceInAnUpdateAreToldAsTheyAre) {
  for (const std::uint64_t choice : {1U, 5U}) {
    std::uint64_t number = 0;
    const Fault fault{
        .place = Place::kHeld, .step = 2, .choice = choice, .pattern = Pattern::kError};
    const Ending ending = struck_by(fault, {2, false}, 0, number);
    for (const std::string& said : ending.said) {
      EXPECT_THAT(said, HasSubstr("the device is lost"));
      EXPECT_THAT(said, Not(HasSubstr("the state changed")));
    }
  }
}

}  // namespace
}  // namespace lockstep::train
