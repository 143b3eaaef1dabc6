// What stays in a run's folder: retention, failures while saving.
#include "lockstep/checkpoint/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "checkpoint/some_checkpoint.h"
#include "lockstep/core/error.h"
#include "lockstep/core/log.h"
#include "support/faulty_file_system.h"
#include "support/temporary_folder.h"

namespace lockstep::checkpoint {
namespace {

using namespace lockstep::checkpoint::testing;
using lockstep::testing::FaultyFileSystem;
using lockstep::testing::TemporaryFolder;
using ::testing::ElementsAre;

FileSystem& real() {
  return real_file_system();
}

// --- retention

Retention any_retention() {
  return {.every = *rc::gen::inRange<std::int64_t>(0, 6),
          .keep_last = *rc::gen::inRange<std::int64_t>(0, 4),
          .keep_every = *rc::gen::inRange<std::int64_t>(0, 20),
          .last = Step(*rc::gen::inRange<std::int64_t>(1, 60))};
}

bool scheduled(const Retention& r, Step step) {
  return (r.every > 0 && step.value % r.every == 0) || step == r.last;
}

// Steps that are not due were saved when the run was stopped.
Present saved(const Retention& r, Step step) {
  return {step, scheduled(r, step) ? Reason::kDue : Reason::kInterim};
}

// `present` after a checkpoint was made durable.
std::vector<Present> after_saving(const Retention& r, std::vector<Present> present, Present one) {
  std::erase_if(present, [&](const Present& other) { return other.step == one.step; });
  present.push_back(one);
  std::ranges::sort(present, {}, &Present::step);
  for (const Step gone : superseded(r, present))
    std::erase_if(present, [&](const Present& other) { return other.step == gone; });
  return present;
}

RC_GTEST_PROP(Superseded, KeepsWhatRetentionPromises, ()) {
  const Retention r = any_retention();
  const auto numbers =
      *rc::gen::container<std::set<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 60));
  std::vector<Present> present;
  for (const std::int64_t number : numbers)
    present.push_back({Step(number), *rc::gen::element(Reason::kDue, Reason::kInterim)});
  const std::vector<Step> gone = superseded(r, present);
  const auto goes = [&](Step step) {
    return std::find(gone.begin(), gone.end(), step) != gone.end();
  };
  RC_ASSERT(gone.size() == std::set<Step>(gone.begin(), gone.end()).size());
  std::int64_t newer = 0;
  const auto is_due = [&](const Present& one) {
    return one.reason == Reason::kDue || scheduled(r, one.step);
  };
  const bool by_a_stop = !present.empty() && !is_due(present.back());
  for (auto one = present.rbegin(); one != present.rend(); ++one) {
    const bool counts = is_due(*one);
    if (one == present.rbegin()) {
      RC_ASSERT(!goes(one->step));  // the newest always stays
      newer += counts;
    } else if (!counts) {
      RC_ASSERT(goes(one->step) == (one->step > Step(0)));  // a later one exists
    } else {
      const bool stays = by_a_stop || r.keep_last == 0 || newer < r.keep_last ||
                         one->step == Step(0) ||
                         (r.keep_every > 0 && one->step.value % r.keep_every == 0);
      RC_ASSERT(goes(one->step) == !stays);
      ++newer;
    }
  }
}

// Another schedule retires nothing: what was due when it was saved counts as keep_last says.
RC_GTEST_PROP(Superseded, ForgetsNothingWhenTheScheduleChanges, ()) {
  Retention r = any_retention();
  r.keep_last = 0;
  std::vector<Present> present;
  for (std::int64_t step = 1; step < 30; ++step) {
    if (*rc::gen::inRange(0, 3) == 0) present.push_back({Step(step), Reason::kDue});
  }
  RC_ASSERT(superseded(r, present).empty());
}

RC_GTEST_PROP(Superseded, LeavesTheSameWhetherOrNotTheRunWasInterrupted, ()) {
  const Retention r = any_retention();
  std::vector<Present> straight, interrupted;
  for (Step step(1); step <= r.last; ++step) {
    const bool due = scheduled(r, step);
    if (due) straight = after_saving(r, straight, saved(r, step));
    if (due || *rc::gen::inRange(0, 4) == 0)
      interrupted = after_saving(r, interrupted, saved(r, step));
  }
  RC_ASSERT(straight == interrupted);
}

TEST(Superseded, OfOneOrNoneIsNothing) {
  const Retention r{.every = 10, .keep_last = 1, .keep_every = 0, .last = Step(100)};
  EXPECT_TRUE(superseded(r, {}).empty());
  EXPECT_TRUE(superseded(r, {saved(r, Step(3))}).empty());
  EXPECT_THAT(superseded(r, {saved(r, Step(10)), saved(r, Step(13)), saved(r, Step(20))}),
              ElementsAre(Step(13), Step(10)));
}

// --- saving

const Retention kTwo{.every = 10, .keep_last = 2, .keep_every = 0, .last = Step(1000)};

void save(Saver& saver, Step step, Reason reason = Reason::kDue) {
  const state::State state = some_state(step);
  saver.save(some_meta(state), state, reason);
}

TEST(Saver, WritesInTheBackgroundAndRetires) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "checkpoints";
  EXPECT_TRUE(list(real(), path).empty());
  Saver saver(real(), path, kTwo);
  for (const std::int64_t step : {10, 20, 23, 30})
    save(saver, Step(step), saved(kTwo, Step(step)).reason);
  saver.wait();
  EXPECT_THAT(list(real(), path), ElementsAre(Step(20), Step(30)));
  EXPECT_EQ(real().list(path).size(), 4u);  // no sidecar of a retired one stays
}

TEST(Saver, RetiresWhatAKilledOneDidNotComeToAndNothingForAnUnverifiedFile) {
  const TemporaryFolder folder;
  for (const std::int64_t step : {10, 20, 30, 40}) {
    const state::State state = some_state(Step(step));
    publish(real(), folder.path(), some_meta(state), state);
  }
  Saver saver(real(), folder.path(), kTwo);
  saver.retire(Step(30));
  EXPECT_THAT(list(real(), folder.path()), ElementsAre(Step(20), Step(30), Step(40)));
}

// What `work` logs.
template <class Work>
std::string logged(Work&& work) {
  const TemporaryFolder folder;
  log::set_quiet(true);
  log::open_file(folder.path() / "log.txt");
  work();
  log::close_file();
  return read_text(real(), folder.path() / "log.txt");
}

// Saved every 20 steps until 60, then every 500 until 61: the first three stay, and the log names
// the one that keep_last takes later.
TEST(Saver, KeepsWhatAnotherScheduleSaved) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "checkpoints";
  {
    Saver saver(real(), path, {.every = 20, .keep_last = 0, .keep_every = 0, .last = Step(60)});
    for (const std::int64_t step : {20, 40, 60}) save(saver, Step(step));
    saver.wait();
  }
  {
    Saver saver(real(), path, {.every = 500, .keep_last = 0, .keep_every = 0, .last = Step(61)});
    save(saver, Step(61));
    saver.wait();
  }
  EXPECT_THAT(list(real(), path), ElementsAre(Step(20), Step(40), Step(60), Step(61)));
  const std::string said = logged([&] {
    Saver(real(), path, {.every = 500, .keep_last = 3, .keep_every = 0, .last = Step(61)})
        .retire(Step(61));
  });
  EXPECT_THAT(list(real(), path), ElementsAre(Step(40), Step(60), Step(61)));
  EXPECT_THAT(said, ::testing::HasSubstr("step-00000020.h5: checkpoint.keep_last is 3"));
}

TEST(Saver, MarksWhatAStopSavedUntilALaterOneExists) {
  const TemporaryFolder folder;
  Saver saver(real(), folder.path(), kTwo);
  save(saver, Step(10));
  save(saver, Step(13), Reason::kInterim);
  saver.wait();
  EXPECT_TRUE(real().exists(folder.path() / marker_name(Step(13))));
  EXPECT_THAT(list(real(), folder.path()), ElementsAre(Step(10), Step(13)));
  save(saver, Step(20));
  saver.wait();
  EXPECT_THAT(list(real(), folder.path()), ElementsAre(Step(10), Step(20)));
  EXPECT_EQ(real().list(folder.path()).size(), 4u);  // no marker stays
}

// Only an empty file marks: anything else with that name is somebody's, and stays.
TEST(Saver, TakesNoOtherFileForAMarker) {
  const TemporaryFolder folder;
  for (const std::int64_t step : {7, 10, 20}) {
    const state::State state = some_state(Step(step));
    publish(real(), folder.path(), some_meta(state), state);
  }
  lockstep::publish(real(), folder.path() / marker_name(Step(7)), as_bytes("mine"));
  Saver(real(), folder.path(), {.every = 10, .keep_last = 0, .keep_every = 0, .last = Step(100)})
      .retire(Step(20));
  EXPECT_THAT(list(real(), folder.path()), ElementsAre(Step(7), Step(10), Step(20)));
  EXPECT_EQ(read_text(real(), folder.path() / marker_name(Step(7))), "mine");
}

TEST(Sweep, RemovesWhatAKilledSaverLeft) {
  const TemporaryFolder folder;
  const state::State state = some_state(Step(10));
  publish(real(), folder.path(), some_meta(state), state);
  const std::vector<std::string> whole = real().list(folder.path());
  for (const char* name :
       {"step-00000020.h5.lockstep.tmp", "step-00000020.h5.sha256.lockstep.tmp",
        "step-00000020.h5.sha256", "step-00000009.h5.sha256", "step-00000020.h5.interim"})
    real().create_new(folder.path() / name)->append(as_bytes("half"));
  checkpoint::sweep(real(), folder.path());
  EXPECT_EQ(real().list(folder.path()), whole);
  real().create_new(folder.path() / "notes.sha256");
  checkpoint::sweep(real(), folder.path());
  EXPECT_TRUE(real().exists(folder.path() / "notes.sha256"));
}

TEST(Saver, CopiesTheStateBeforeItReturns) {
  const TemporaryFolder folder;
  Saver saver(real(), folder.path(), kTwo);
  state::State state = some_state(Step(10));
  saver.save(some_meta(state), state);
  for (const auto& named : state.tensors) {
    at::Tensor tensor = named.tensor;
    std::fill_n(ops::write(tensor), tensor.numel(), 0.0F);
  }
  saver.wait();
  EXPECT_TRUE(is_whole(real(), folder.path(), Step(10)));
}

TEST(List, LeavesOutWhatIsNoCheckpoint) {
  const TemporaryFolder folder;
  for (const char* name : {"step-00000020.h5", "step-00000003.h5", "step-00000030.h5.lockstep.tmp",
                           "step-00000040.h5.sha256", "notes.txt", "step-5.h5"})
    lockstep::publish(real(), folder.path() / name, ByteView{});
  EXPECT_THAT(list(real(), folder.path()), ElementsAre(Step(3), Step(20)));
}

// Wherever a call fails: the error arrives, all that is listed loads, and nothing older was given
// up for something that is not there.
void save_with_failures(FaultyFileSystem::After after) {
  for (int n = 1;; ++n) {
    const TemporaryFolder folder;
    {
      Saver saver(real(), folder.path(), kTwo);
      save(saver, Step(10));
      save(saver, Step(20));
      saver.wait();
    }
    FaultyFileSystem fs(real(), n, after);
    std::string what;
    try {
      Saver saver(fs, folder.path(), kTwo);
      save(saver, Step(30));
      saver.wait();
    } catch (const Error& error) {
      what = error.what();
      EXPECT_THAT(what, ::testing::HasSubstr("No space left"));
    }
    EXPECT_EQ(what.empty(), !fs.failed()) << "a failure at call " << n << " was swallowed";
    const std::vector<Step> present = list(real(), folder.path());
    for (const Step step : present) EXPECT_TRUE(is_whole(real(), folder.path(), step)) << n;
    EXPECT_THAT(present, ::testing::AnyOf(ElementsAre(Step(10), Step(20)),
                                          ElementsAre(Step(10), Step(20), Step(30)),
                                          ElementsAre(Step(20), Step(30))))
        << n << " " << what;
    // A failed publish leaves the folder as it was.
    if (after == FaultyFileSystem::After::kRecovers && !fs.removal_failed() &&
        present.back() == Step(20)) {
      EXPECT_EQ(real().list(folder.path()).size(), 4u) << n << " " << what;
    }
    // And the next attempt succeeds.
    Saver saver(real(), folder.path(), kTwo);
    save(saver, Step(30));
    saver.wait();
    EXPECT_THAT(list(real(), folder.path()), ElementsAre(Step(20), Step(30)));
    if (!fs.failed()) {
      EXPECT_GT(n, 12);
      return;
    }
  }
}

TEST(Saver, KeepsOlderCheckpointsWhereverOneCallFails) {
  save_with_failures(FaultyFileSystem::After::kRecovers);
}
TEST(Saver, KeepsOlderCheckpointsWhereverTheDiskBreaksForGood) {
  save_with_failures(FaultyFileSystem::After::kStaysBroken);
}

TEST(Saver, LogsWhatFailedWhereSomethingElseEndsTheRun) {
  const TemporaryFolder folder;
  FaultyFileSystem fs(real(), 5, FaultyFileSystem::After::kRecovers);
  const std::string said = logged([&] {
    Saver saver(fs, folder.path(), kTwo);
    save(saver, Step(30));
  });
  EXPECT_TRUE(fs.failed());
  EXPECT_THAT(said, ::testing::HasSubstr("a checkpoint was not saved: "));
}

TEST(Saver, WhatAStopSavedHasItsMarkerWhereverOneCallFails) {
  for (int n = 1, failed = 0;; ++n) {
    const TemporaryFolder folder;
    FaultyFileSystem fs(real(), n, FaultyFileSystem::After::kRecovers);
    try {
      Saver saver(fs, folder.path(), kTwo);
      save(saver, Step(13), Reason::kInterim);
      saver.wait();
    } catch (const Error&) {
      ++failed;
    }
    const bool saved = real().exists(folder.path() / file_name(Step(13)));
    const bool marked = real().exists(folder.path() / marker_name(Step(13)));
    EXPECT_TRUE(!saved || marked) << n;
    if (fs.failed()) continue;
    EXPECT_TRUE(saved);
    EXPECT_GT(failed, 12);
    return;
  }
}

TEST(Saver, ThrowsAFailureOfTheBackgroundAtTheNextSave) {
  const TemporaryFolder folder;
  FaultyFileSystem fs(real(), 4);
  Saver saver(fs, folder.path(), kTwo);
  save(saver, Step(10));
  EXPECT_THROW(save(saver, Step(20)), Error);
  save(saver, Step(20));
  EXPECT_NO_THROW(saver.wait());
  EXPECT_TRUE(is_whole(real(), folder.path(), Step(20)));
}

TEST(Publish, MakesFileAndSidecarDurableBeforeTheFileGetsItsName) {
  const TemporaryFolder folder;
  FaultyFileSystem fs(real(), FaultyFileSystem::kNever);
  const state::State state = some_state(Step(7));
  publish(fs, folder.path(), some_meta(state), state);
  std::vector<std::string> order;  // without the contents
  for (const std::string& call : fs.calls())
    if (!call.starts_with("write") && !call.starts_with("remove") && !call.starts_with("read"))
      order.push_back(call);
  const std::string file = file_name(Step(7)), sidecar = file + ".sha256",
                    sync_folder = "sync " + folder.path().filename().string();
  EXPECT_THAT(
      order, ElementsAre("create " + file + ".lockstep.tmp", "sync " + file + ".lockstep.tmp",
                         "create " + sidecar + ".lockstep.tmp", "sync " + sidecar + ".lockstep.tmp",
                         "rename " + sidecar + ".lockstep.tmp", sync_folder,
                         "rename " + file + ".lockstep.tmp", sync_folder));
}

}  // namespace
}  // namespace lockstep::checkpoint
