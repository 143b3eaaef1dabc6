#include "lockstep/checkpoint/signer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "checkpoint/some_checkpoint.h"
#include "lockstep/checkpoint/store.h"
#include "lockstep/core/error.h"
#include "support/simulated_disk.h"
#include "support/some_keys.h"

namespace lockstep::checkpoint {
namespace {

using namespace lockstep::checkpoint::testing;
using lockstep::testing::SimulatedDisk;
using lockstep::testing::some_key;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::filesystem::path kFolder = "checkpoints";
const Shapes kShapes{{"model/param/w", {3}}};
const hash::Digest kRun = hash::sha256(as_bytes("run"));

// Saves these steps, each in an attempt of its own; those that are not due when the run is stopped.
void save(FileSystem& fs, const Retention& retention, const std::vector<Step>& steps) {
  for (const Step step : steps) {
    make_folder(fs, kFolder);
    Signer signer(fs, kFolder, some_key(), kRun, retention.every, read_statements(fs, kFolder));
    Saver saver(fs, kFolder, retention, &signer);
    const state::State state = state_of(kShapes, step);
    const bool due =
        step == retention.last || (retention.every > 0 && step.value % retention.every == 0);
    saver.save(some_meta(state), state, due ? Reason::kDue : Reason::kInterim);
    saver.wait();
  }
}

std::vector<Step> signed_steps(FileSystem& fs) {
  std::vector<Step> steps;
  for (const auto& [step, statement] : read_statements(fs, kFolder)) steps.push_back(step);
  return steps;
}

std::map<std::string, std::string> contents(FileSystem& fs) {
  std::map<std::string, std::string> found;
  for (const std::string& name : fs.list(kFolder)) found[name] = read_text(fs, kFolder / name);
  return found;
}

TEST(Signer, SaysWhatIsSignedAndByWhomAndChainsIt) {
  SimulatedDisk disk;
  save(disk, {.every = 10, .keep_last = 1, .keep_every = 0, .last = Step(30)},
       {Step(10), Step(20), Step(30)});
  EXPECT_THAT(list(disk, kFolder), ElementsAre(Step(30)));
  const Statements statements = read_statements(disk, kFolder);
  EXPECT_THAT(signed_steps(disk), ElementsAre(Step(10), Step(20), Step(30)));
  EXPECT_EQ(statements.at(Step(10)).parent, hash::Digest{});
  EXPECT_EQ(statements.at(Step(20)).parent, digest_of(statements.at(Step(10))));
  EXPECT_EQ(statements.at(Step(30)).parent, digest_of(statements.at(Step(20))));
  const Loaded loaded = load(disk, kFolder / file_name(Step(30)));
  const Statement& last = statements.at(Step(30));
  EXPECT_EQ(last.checkpoint, loaded.root());
  EXPECT_EQ(last.ledger, loaded.meta().chain);
  EXPECT_EQ(last.recipe, loaded.meta().recipe);
  EXPECT_EQ(last.data, loaded.meta().data);
  EXPECT_EQ(last.run, kRun);
  EXPECT_EQ(last.key, some_key().public_key());
}

TEST(Signer, OfAnUnscheduledCheckpointIsNobodysParentAndGoesWithIt) {
  SimulatedDisk disk;
  const Retention two{.every = 10, .keep_last = 2, .keep_every = 0, .last = Step(100)};
  save(disk, two, {Step(10), Step(13)});
  EXPECT_THAT(signed_steps(disk), ElementsAre(Step(10), Step(13)));
  EXPECT_EQ(read_statements(disk, kFolder).at(Step(13)).parent,
            digest_of(read_statements(disk, kFolder).at(Step(10))));
  save(disk, two, {Step(20)});
  EXPECT_THAT(signed_steps(disk), ElementsAre(Step(10), Step(20)));
  EXPECT_TRUE(orphans(read_statements(disk, kFolder)).empty());
}

TEST(Signer, RetiresWhatAKilledOneDidNotComeTo) {
  SimulatedDisk disk;
  const Retention two{.every = 10, .keep_last = 2, .keep_every = 0, .last = Step(100)};
  save(disk, two, {Step(10), Step(13), Step(20)});
  const auto whole = contents(disk);
  SimulatedDisk killed;
  save(killed, two, {Step(10), Step(13)});
  const std::string lone = read_text(killed, kFolder / statement_name(Step(13)));
  lockstep::publish(disk, kFolder / statement_name(Step(13)), as_bytes(lone));
  Signer signer(disk, kFolder, some_key(), kRun, two.every, read_statements(disk, kFolder));
  Saver(disk, kFolder, two, &signer).retire(Step(20));
  EXPECT_EQ(contents(disk), whole);
}

// What stays is a function of the schedule, not of where the run was stopped.
RC_GTEST_PROP(Signer, LeavesTheSameFilesWhetherOrNotTheRunWasInterrupted, ()) {
  const Retention r{.every = *rc::gen::inRange<std::int64_t>(0, 5),
                    .keep_last = *rc::gen::inRange<std::int64_t>(0, 4),
                    .keep_every = *rc::gen::inRange<std::int64_t>(0, 9),
                    .last = Step(*rc::gen::inRange<std::int64_t>(1, 16))};
  std::vector<Step> straight, interrupted;
  for (Step step(1); step <= r.last; ++step) {
    const bool due = step == r.last || (r.every > 0 && step.value % r.every == 0);
    if (due) straight.push_back(step);
    if (due || *rc::gen::inRange(0, 3) == 0) interrupted.push_back(step);
  }
  SimulatedDisk one, other;
  save(one, r, straight);
  save(other, r, interrupted);
  RC_ASSERT(contents(one) == contents(other));
  RC_ASSERT(orphans(read_statements(one, kFolder)).empty());
}

TEST(Orphans, AreThoseWhoseParentWasDropped) {
  SimulatedDisk disk;
  save(disk, {.every = 1, .keep_last = 0, .keep_every = 0, .last = Step(5)},
       {Step(1), Step(2), Step(3), Step(4), Step(5)});
  const Statements whole = read_statements(disk, kFolder);
  EXPECT_TRUE(orphans(whole).empty());
  for (std::int64_t dropped = 1; dropped <= 5; ++dropped) {
    Statements rest = whole;
    rest.erase(Step(dropped));
    if (dropped == 5)
      EXPECT_TRUE(orphans(rest).empty());  // the newest: nothing shows it
    else
      EXPECT_THAT(orphans(rest), ElementsAre(Step(dropped + 1)));
  }
}

TEST(Orphans, AParentIsOfAnEarlierStep) {
  Statements statements;
  Statement later{.run = kRun,
                  .recipe = {},
                  .data = {},
                  .step = Step(2),
                  .parent = {},
                  .checkpoint = {},
                  .ledger = {},
                  .key = {},
                  .signature = {}};
  Statement earlier = later;
  earlier.step = Step(1);
  earlier.parent = digest_of(later);
  statements = {{Step(1), earlier}, {Step(2), later}};
  EXPECT_THAT(orphans(statements), ElementsAre(Step(1)));
}

TEST(ReadStatements, RefusesOneUnderAnotherStepsName) {
  SimulatedDisk disk;
  save(disk, {.every = 1, .keep_last = 0, .keep_every = 0, .last = Step(2)}, {Step(1), Step(2)});
  disk.rename(kFolder / statement_name(Step(1)), kFolder / statement_name(Step(2)));
  try {
    read_statements(disk, kFolder);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCorrupt);
    EXPECT_THAT(error.what(), HasSubstr("step-00000002.h5.sig is the statement of step 1"));
  }
}

}  // namespace
}  // namespace lockstep::checkpoint
