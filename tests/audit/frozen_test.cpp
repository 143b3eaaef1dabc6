// Runs whose discriminator, or generator, is another run's and stays as it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lockstep/audit/replay.h"
#include "lockstep/checkpoint/store.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/log.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/train/claims.h"
#include "lockstep/train/initial_state.h"
#include "train/some_run.h"

namespace lockstep::audit {
namespace {

namespace stdfs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SomeRun;

// Three steps from step 3 of the parent, whose `role` stays.
train::RunOptions freezing(const std::string& role, const stdfs::path& parent,
                           const stdfs::path& folder, const std::vector<std::string>& more = {}) {
  log::set_quiet(true);
  std::vector<std::string> all = {"run.seed=1", "run.steps=3", role + ".weights=frozen"};
  all.insert(all.end(), more.begin(), more.end());
  const train::SavedState from{parent, Step(3)};
  const recipe::Recipe given = testing::small_gan(all);
  return {.recipe = train::start_from(from, given).recipe,
          .folder = folder,
          .shard = train::Shard::kNone,
          .sign = {},
          .start = [=] { return train::start_from(from, given).state; }};
}

checkpoint::Loaded load(const stdfs::path& run, int step) {
  return checkpoint::load(real_file_system(),
                          run / "checkpoints" / checkpoint::file_name(Step(step)));
}

// Names of the tensors that are not what they were, and of those of a role.
std::vector<std::string> changed(const state::State& before, const state::State& after) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < before.tensors.size(); ++i)
    if (!before.tensors[i].tensor.equal(after.tensors[i].tensor))
      names.push_back(before.tensors[i].name);
  return names;
}

TEST(Frozen, WeightsAndBuffersStayAndHaveNoSlots) {
  const SomeRun parent;
  const lockstep::testing::TemporaryFolder folder;
  for (const std::string role : {"generator", "discriminator"}) {
    const stdfs::path run = folder.path() / role;
    testing::run_by(1, freezing(role, parent.path(), run));
    const auto first = load(run, 0), last = load(run, 3);
    const auto moved = changed(first.state(), last.state());
    EXPECT_FALSE(moved.empty());
    for (const std::string& name : moved) EXPECT_FALSE(name.starts_with(role + "/")) << name;
    for (const state::Named& named : last.state().tensors)
      EXPECT_TRUE(!named.name.starts_with(role + "/") || named.name.starts_with(role + "/param/") ||
                  named.name.starts_with(role + "/buffer/"))
          << named.name;
    const auto losses =
        ledger::read(real_file_system(), run / "ledger.jsonl").entries.back().losses;
    ASSERT_EQ(losses.size(), 1U);
    EXPECT_NE(losses[0].first, role);
  }
}

TEST(Frozen, AnyNumberOfRanksAndAReplayGiveTheSameBits) {
  const SomeRun parent;
  const lockstep::testing::TemporaryFolder folder;
  const stdfs::path one = folder.path() / "one", three = folder.path() / "three";
  testing::run_by(1, freezing("discriminator", parent.path(), one));
  testing::run_by(3, freezing("discriminator", parent.path(), three));
  EXPECT_EQ(testing::read_bytes(one / "ledger.jsonl"), testing::read_bytes(three / "ledger.jsonl"));
  EXPECT_EQ(testing::read_bytes(one / "checkpoints/step-00000003.h5"),
            testing::read_bytes(three / "checkpoints/step-00000003.h5"));
  comm::run_local(1, [&](comm::Group& group) {
    ReplayOptions options;
    options.folder = one;
    const ReplayResult result = replay(options, group);
    EXPECT_EQ(result.compared, 3);
    EXPECT_FALSE(result.differs) << result.what;
  });
}

TEST(Frozen, TheRootOfTheWeightsIsPartOfTheRecipeAndIsChecked) {
  const SomeRun parent;
  const lockstep::testing::TemporaryFolder folder;
  const stdfs::path run = folder.path() / "run";
  testing::run_by(1, freezing("discriminator", parent.path(), run));
  recipe::Recipe recipe = recipe::of_run(real_file_system(), run);
  std::string& root = recipe.networks[1].root;
  EXPECT_EQ(root, train::root_of(load(parent.path(), 3).state(), "discriminator").hex());
  EXPECT_NE(root, train::root_of(load(parent.path(), 6).state(), "discriminator").hex());
  EXPECT_THAT(recipe::canonical_bits(recipe),
              HasSubstr("weights = \"frozen\"\nroot = \"" + root + "\""));
  EXPECT_EQ(train::not_the_start(load(run, 0), recipe), std::nullopt);
  root = std::string(64, '0');
  EXPECT_EQ(train::not_the_start(load(run, 0), recipe),
            "its discriminator is not the frozen one that the recipe names");
  try {
    freezing("discriminator", parent.path(), run, {"discriminator.root='" + root + "'"});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    EXPECT_THAT(error.message(), HasSubstr("the recipe names 000000000000"));
  }
}

// A network that was frozen is trained again: its slots start at zero.
TEST(Frozen, WeightsCanBeTrainedAgain) {
  const SomeRun parent;
  const lockstep::testing::TemporaryFolder folder;
  const stdfs::path frozen = folder.path() / "frozen";
  testing::run_by(1, freezing("discriminator", parent.path(), frozen));
  const train::Start start =
      train::start_from({frozen, Step(3)}, testing::small_gan({"run.seed=1", "run.steps=3"}));
  EXPECT_THAT(start.notes, ElementsAre("discriminator: the slots of sgd start at zero, the parent "
                                       "has none"));
  EXPECT_EQ(train::root_of(start.state, "discriminator"),
            train::root_of(load(parent.path(), 3).state(), "discriminator"));
}

}  // namespace
}  // namespace lockstep::audit
