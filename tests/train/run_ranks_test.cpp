// Whole runs by several ranks: the same files, however many ranks and whoever comes back.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "lockstep/core/error.h"
#include "lockstep/core/log.h"
#include "train/some_run.h"

namespace lockstep::train {
namespace {

using testing::read_bytes;
using testing::run_by;

std::map<std::string, std::string> evidence(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const std::string& name : testing::SomeRun::evidence())
    files[name] = read_bytes(folder / name);
  return files;
}

RunOptions options(const std::filesystem::path& folder, int steps) {
  log::set_quiet(true);
  return {.recipe = testing::small_gan({"run.seed=1", "run.steps=" + std::to_string(steps)}),
          .folder = folder};
}

TEST(RunByRanks, GivesTheSameFilesByAnyNumberOfThem) {
  const testing::SomeRun alone;
  for (int world = 2; world <= 6; ++world) {
    const lockstep::testing::TemporaryFolder folder;
    const RunResult result = run_by(world, options(folder.path() / "run", 6));
    EXPECT_EQ(result.last, Step(6));
    EXPECT_EQ(evidence(folder.path() / "run"), evidence(alone.path())) << world << " ranks";
  }
}

TEST(RunByRanks, GoesOnWithAnotherNumberOfThem) {
  const testing::SomeRun alone;
  const lockstep::testing::TemporaryFolder folder;
  int steps = 0;
  for (const int world : {3, 1, 5, 2}) {
    const RunResult result = run_by(world, options(folder.path() / "run", ++steps));
    EXPECT_EQ(result.first, Step(steps - 1));
  }
  EXPECT_EQ(run_by(4, options(folder.path() / "run", 6)).last, Step(6));
  EXPECT_EQ(evidence(folder.path() / "run"), evidence(alone.path()));
}

TEST(RunByRanks, DividesTheOptimisersSlotsWithoutAnyoneSeeingItInTheFiles) {
  const testing::SomeRun alone;
  const lockstep::testing::TemporaryFolder folder;
  int steps = 0;
  for (const auto& [world, shard] : {std::pair(3, Shard::kOptimizer),
                                     {2, Shard::kOptimizer},
                                     {4, Shard::kNone},
                                     {1, Shard::kOptimizer}}) {
    RunOptions some = options(folder.path() / "run", ++steps);
    some.shard = shard;
    EXPECT_EQ(run_by(world, some).first, Step(steps - 1));
  }
  RunOptions rest = options(folder.path() / "run", 6);
  rest.shard = Shard::kOptimizer;
  EXPECT_EQ(run_by(5, rest).last, Step(6));
  EXPECT_EQ(evidence(folder.path() / "run"), evidence(alone.path()));
}

TEST(RunByRanks, WitnessesLanesInPortionsToo) {
  const lockstep::testing::TemporaryFolder folder;
  std::optional<std::map<std::string, std::string>> first;
  for (const auto& [world, lanes] : {std::pair(1, 0), {1, 1}, {1, 3}, {3, 0}, {3, 1}, {2, 3}}) {
    std::string name = std::to_string(world);
    name.append("-").append(std::to_string(lanes));
    RunOptions some = options(folder.path() / name, 6);
    some.recipe.evidence.witness_rate = 1;
    some.lanes_at_once = lanes;
    run_by(world, some);
    const auto files = evidence(some.folder);
    if (!first) first = files;
    EXPECT_EQ(files, *first) << name;
  }
}

TEST(RunByRanks, WritesWhatEveryRankIs) {
  const lockstep::testing::TemporaryFolder folder;
  run_by(3, options(folder.path() / "run", 1));
  const std::filesystem::path environment = folder.path() / "run" / "environment";
  for (const int rank : {0, 1, 2}) {
    std::string name = "attempt-001-rank-";
    name.append(std::to_string(rank)).append(".json");
    EXPECT_NE(read_bytes(environment / name).find("\"cpu\""), std::string::npos) << name;
  }
}

TEST(RunByRanks, AnErrorOfRankZeroStopsAll) {
  const lockstep::testing::TemporaryFolder folder;
  run_by(1, options(folder.path() / "run", 1));
  RunOptions other = options(folder.path() / "run", 1);
  other.recipe.run.seed = 2;
  try {
    run_by(3, other);
    ADD_FAILURE() << "another recipe was trained into the folder";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage) << error.what();
  }
}

}  // namespace
}  // namespace lockstep::train
