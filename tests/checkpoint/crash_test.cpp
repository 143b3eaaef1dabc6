// A run's ledger, checkpoints and statements on a disk that stops anywhere: killed at every byte of
// a save, without power at every call, with every order in which a disk may have kept things, and
// after every fsync that failed.
#include <gtest/gtest.h>

#include <functional>

#include "checkpoint/some_checkpoint.h"
#include "lockstep/checkpoint/store.h"
#include "lockstep/ledger/ledger.h"
#include "support/simulated_disk.h"
#include "support/some_keys.h"

namespace lockstep::checkpoint {
namespace {

using namespace lockstep::checkpoint::testing;
using lockstep::testing::SimulatedDisk;

const std::filesystem::path kRun = "runs/tiny", kLedger = kRun / "ledger.jsonl",
                            kFolder = kRun / "checkpoints";
const Step kLast{4};
const Retention kOne{.every = 1, .keep_last = 1, .keep_every = 0, .last = kLast};
const Shapes kShapes{{"model/param/w", {3}}, {"model/m/w", {3}}};

ledger::Header header() {
  return {hash::sha256(as_bytes("recipe")), hash::sha256(as_bytes("data")), 3, {}};
}

ledger::Entry entry(Step step) {
  ledger::Entry line;
  line.step = step;
  line.samples = step.value * 64;
  line.state = state::digest(state_of(kShapes, step)).root;
  return line;
}

bool whole(FileSystem& fs, Step step) {
  return same_bits(load(fs, kFolder / file_name(step)).state(), state_of(kShapes, step));
}

// What train::run does around its steps; `saved` is told each step whose checkpoint is promised.
void attempt(
    FileSystem& fs, const std::function<void(Step)>& saved = [](Step) {}) {
  make_folders(fs, kRun);
  checkpoint::sweep(fs, kFolder);
  ledger::Writer ledger(fs, kLedger, header(), ledger::read_existing(fs, kLedger));
  const Statements statements = read_statements(fs, kFolder);
  Signer signer(fs, kFolder, lockstep::testing::some_key(), {}, kOne.every, statements);
  Saver saver(fs, kFolder, kOne, &signer);
  const std::vector<Step> present = list(fs, kFolder);
  Step step = present.empty() ? Step(0) : present.back();
  ASSERT_TRUE(step == Step(0) || whole(fs, step));
  if (step > Step(0) && !statements.contains(step)) {
    const Loaded loaded = load(fs, kFolder / file_name(step));
    signer.sign(loaded.meta(), step, loaded.root());
  }
  ASSERT_LE(static_cast<std::size_t>(step.value), ledger.existing().entries.size());
  saver.retire(step);
  while (step < kLast) {
    ++step;
    ASSERT_FALSE(ledger.record(entry(step)));
    ledger.sync();
    const state::State state = state_of(kShapes, step);
    saver.save(some_meta(state), state);
    saver.wait();
    saved(step);
  }
}

// Until the process dies. Returns the last step whose checkpoint was promised.
Step attempt_until_dead(SimulatedDisk& disk) {
  Step promised{0};
  try {
    attempt(disk, [&](Step step) { promised = step; });
  } catch (const SimulatedDisk::Dead&) {
  }
  return promised;
}

// Nothing promised is gone, nothing that is there is broken, and the same command ends the run.
void expect_survived(SimulatedDisk disk, Step promised, bool resume) {
  const std::vector<Step> present = list(disk, kFolder);
  for (const Step step : present) ASSERT_TRUE(whole(disk, step)) << step.value;
  const Step newest = present.empty() ? Step(0) : present.back();
  ASSERT_GE(newest, promised);
  const Statements statements = read_statements(disk, kFolder);  // what is there is whole
  ASSERT_TRUE(orphans(statements).empty());
  ASSERT_TRUE(promised == Step(0) || statements.contains(promised));
  for (const auto& [step, statement] : statements) ASSERT_LE(step, newest);
  if (disk.exists(kLedger)) {
    const auto ledger = ledger::read(disk, kLedger, ledger::TornTail::kDrop);
    ASSERT_GE(ledger.entries.size(), static_cast<std::size_t>(newest.value));
  } else {
    ASSERT_EQ(newest, Step(0));
  }
  if (!resume) return;
  ASSERT_NO_FATAL_FAILURE(attempt(disk));
  const std::vector<std::string> expected{"step-00000001.h5.sig",    "step-00000002.h5.sig",
                                          "step-00000003.h5.sig",    "step-00000004.h5",
                                          "step-00000004.h5.sha256", "step-00000004.h5.sig"};
  ASSERT_EQ(disk.list(kFolder), expected);  // no temporary file, no lone sidecar
  ASSERT_TRUE(orphans(read_statements(disk, kFolder)).empty());
  ASSERT_EQ(ledger::read(disk, kLedger).entries.size(), 4u);
}

TEST(Crash, KilledAtEveryByteOfASaveAndOfARunsBeginning) {
  SimulatedDisk undisturbed;
  attempt(undisturbed);
  const std::int64_t all = undisturbed.work_done();
  ASSERT_GT(all, 4 * 4096);
  // The beginning, and the replacement of one checkpoint by the next: later steps are like them.
  for (std::int64_t n = 0; n <= all / 2; ++n) {
    SimulatedDisk disk;
    disk.die_after_work(n);
    const Step promised = attempt_until_dead(disk);
    ASSERT_TRUE(disk.dead());
    ASSERT_NO_FATAL_FAILURE(expect_survived(disk.after_kill(), promised, n % 37 == 0))
        << "killed after " << n;
  }
}

TEST(Crash, WithoutPowerAtAnyCallWhateverTheDiskHadKept) {
  std::int64_t disks = 0;
  for (std::int64_t call = 1;; ++call) {
    SimulatedDisk disk;
    disk.die_before_call(call);
    const Step promised = attempt_until_dead(disk);
    for (std::size_t names = 0; names < disk.name_choices(); ++names) {
      for (int contents = 0; contents < SimulatedDisk::kContents; ++contents) {
        const bool resume = ++disks % 29 == 0;
        ASSERT_NO_FATAL_FAILURE(expect_survived(
            disk.after_power_loss(names, SimulatedDisk::Contents(contents)), promised, resume))
            << "without power before call " << call << ", names " << names << ", contents "
            << contents;
      }
    }
    if (!disk.dead()) {
      EXPECT_EQ(promised, kLast);
      EXPECT_GT(call, 60);
      break;
    }
  }
  EXPECT_GT(disks, 500);
}

// A failed fsync is told, and nothing afterwards trusts what only seems to be on the disk.
TEST(Crash, AFailedSyncIsNotForgottenByTheNextAttempt) {
  for (std::int64_t n = 1;; ++n) {
    SimulatedDisk disk;
    disk.fail_sync(n);
    std::string said;
    try {
      attempt(disk);
    } catch (const Error& error) {
      said = error.what();
    }
    if (!disk.sync_failed()) {
      EXPECT_EQ(said, "");
      EXPECT_GT(n, 12);
      return;
    }
    ASSERT_NE(said.find("Input/output error"), std::string::npos)
        << n << " was swallowed: " << said;
    ASSERT_NO_FATAL_FAILURE(attempt(disk)) << n;
    ASSERT_NO_FATAL_FAILURE(
        expect_survived(disk.after_power_loss(0, SimulatedDisk::kNone), kLast, true))
        << "fsync " << n << " had failed";
  }
}

}  // namespace
}  // namespace lockstep::checkpoint
