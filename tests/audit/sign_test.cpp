// Signed runs, and evidence forged by somebody who has the program and everything but the key.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "audit/forged_ledger.h"
#include "audit/lines_of.h"
#include "lockstep/audit/verify.h"
#include "lockstep/checkpoint/store.h"
#include "lockstep/core/file_system.h"
#include "lockstep/hash/key_file.h"
#include "lockstep/ledger/ledger.h"
#include "support/some_keys.h"
#include "train/some_run.h"

namespace lockstep::audit {
namespace {

namespace stdfs = std::filesystem;
using lockstep::testing::some_key;
using lockstep::testing::TemporaryFolder;
using testing::read_bytes;
using testing::write_bytes;

// Key pair `number` as files.
stdfs::path key_file(std::size_t number) {
  static const TemporaryFolder folder;
  const stdfs::path path = folder.path() / std::to_string(number);
  if (!stdfs::exists(path)) hash::write_keys(path, some_key(number));
  return path;
}
stdfs::path public_key_file(std::size_t number) {
  return key_file(number).string() + ".pub";
}

// Six steps, a checkpoint every second one, all kept; commits at 3 and 6; signed by key 0.
train::RunOptions signed_options(const stdfs::path& folder, std::int64_t seed = 1) {
  return {.recipe = testing::small_gan({"run.seed=" + std::to_string(seed), "checkpoint.every=2",
                                        "checkpoint.keep_last=0", "evidence.commit_every=3"}),
          .folder = folder,
          .shard = train::Shard::kNone,
          .sign = key_file(0)};
}

class SignedRun {
 public:
  explicit SignedRun(std::int64_t seed = 1) {
    static const TemporaryFolder originals;
    const stdfs::path original = originals.path() / std::to_string(seed);
    if (!stdfs::exists(original)) testing::run_by(1, signed_options(original, seed));
    stdfs::copy(original, path(), stdfs::copy_options::recursive);
  }
  const stdfs::path& path() const { return folder_.path(); }
  stdfs::path checkpoints() const { return path() / "checkpoints"; }
  stdfs::path checkpoint(std::int64_t step) const {
    return checkpoints() / checkpoint::file_name(Step(step));
  }
  stdfs::path statement(std::int64_t step) const {
    return checkpoints() / checkpoint::statement_name(Step(step));
  }
  checkpoint::Loaded load(std::int64_t step) const {
    return checkpoint::load(real_file_system(), checkpoint(step));
  }
  VerifyResult verified() const { return verify(path(), {.key = public_key_file(0)}); }

 private:
  TemporaryFolder folder_;
};

// With the key it is damaged, and a line says so; without, the result is `alone`.
void expect_forged(const SignedRun& run, const std::string& what, Code alone) {
  const VerifyResult result = run.verified();
  EXPECT_EQ(result.code(), Code::kCorrupt);
  EXPECT_FALSE(result.signed_to);
  EXPECT_NE(lines_of(result).find(what), std::string::npos) << lines_of(result);
  EXPECT_EQ(verify(run.path()).code(), alone) << lines_of(verify(run.path()));
}

void remove_statements(const SignedRun& run) {
  for (const std::int64_t step : {2, 4, 6}) stdfs::remove(run.statement(step));
}

// A checkpoint as the program would write it of another state or with other words about it.
void publish(const SignedRun& run, const checkpoint::Meta& meta, const state::State& state) {
  checkpoint::publish(real_file_system(), run.checkpoints(), meta, state);
}

state::State copy_of(const state::State& state) {
  state::State copy{.tensors = {}, .step = state.step, .samples = state.samples};
  for (const state::Named& named : state.tensors)
    copy.tensors.push_back({named.name, named.tensor.clone()});
  return copy;
}

TEST(Signed, ARunAndEachOfItsCheckpointsHold) {
  const SignedRun run;
  const VerifyResult result = run.verified();
  EXPECT_EQ(result.code(), Code::kOk) << lines_of(result);
  EXPECT_EQ(result.signed_to, Step(6));
  EXPECT_FALSE(verify(run.path()).signed_to);
  for (const std::int64_t step : {2, 4, 6}) {
    const VerifyResult one = verify(run.checkpoint(step), {.key = public_key_file(0)});
    EXPECT_EQ(one.code(), Code::kOk) << lines_of(one);
    EXPECT_EQ(one.signed_to, Step(step));
  }
}

TEST(Signed, ByAnotherKeyOrNotAtAllIsDamaged) {
  const SignedRun run;
  EXPECT_EQ(verify(run.path(), {.key = public_key_file(1)}).code(), Code::kCorrupt);
  EXPECT_EQ(verify(run.checkpoint(4), {.key = public_key_file(1)}).code(), Code::kCorrupt);
  remove_statements(run);
  expect_forged(run, "step-00000004.h5: step-00000004.h5.sig is missing", Code::kOk);
  EXPECT_EQ(verify(run.checkpoint(4), {.key = public_key_file(0)}).code(), Code::kCorrupt);
  stdfs::remove_all(run.checkpoints());
  expect_forged(run, "nothing in it is signed", Code::kOk);
}

TEST(Signed, TheSameKeyAndRunGiveTheSameFilesByAnyNumberOfRanks) {
  const SignedRun run;
  const TemporaryFolder folder;
  testing::run_by(3, signed_options(folder.path()));
  for (const auto& file : stdfs::directory_iterator(run.checkpoints()))
    EXPECT_EQ(read_bytes(file.path()),
              read_bytes(folder.path() / "checkpoints" / file.path().filename()));
}

RC_GTEST_PROP(Signed, RefusesAnyChangedByteOfAStatementWithAndWithoutTheKey, ()) {
  static const SignedRun run;
  for (const std::int64_t step : {2, 4, 6}) {
    const std::string whole = read_bytes(run.statement(step));
    std::string damaged = whole;
    const auto at = *rc::gen::inRange<std::size_t>(0, whole.size());
    damaged[at] = static_cast<char>(whole[at] ^ *rc::gen::inRange(1, 256));
    write_bytes(run.statement(step), damaged);
    const VerifyResult alone = verify(run.path()), result = run.verified(),
                       one = verify(run.checkpoint(step));
    write_bytes(run.statement(step), whole);
    for (const VerifyResult& found : {alone, result, one}) {
      RC_ASSERT(found.code() == Code::kCorrupt);
      RC_ASSERT(found.findings.size() == 1u);
      RC_ASSERT(lines_of(found).find(run.statement(step).filename()) != std::string::npos);
    }
  }
  RC_ASSERT(run.verified().code() == Code::kOk);
}

// --- resuming

void expect_error(Code code, const std::string& what, const train::RunOptions& options) {
  try {
    testing::run_by(1, options);
    ADD_FAILURE() << "not refused: " << what;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
  }
}

TEST(Resumed, ARunOfAnotherKeyIsRefusedAndOneOfNoneToo) {
  const SignedRun run;
  train::RunOptions options = signed_options(run.path());
  options.sign = key_file(1);
  expect_error(Code::kUsage, "step-00000002.h5.sig is signed by another key", options);
  options.sign.reset();
  expect_error(Code::kUsage, "is a signed run, and there is no --sign", options);
  EXPECT_EQ(run.verified().code(), Code::kOk);
}

TEST(Resumed, WhatIsSignedMustBeWhatIsThere) {
  const auto resume = [](const SignedRun& run, const std::string& what) {
    train::RunOptions options = signed_options(run.path());
    options.recipe.run.steps = 8;
    expect_error(Code::kCorrupt, what, options);
  };
  const SignedRun dropped;
  stdfs::remove(dropped.statement(4));
  resume(dropped, "step-00000006.h5.sig: the statement that it names as its parent is missing");

  const SignedRun other(2), mixed;
  stdfs::copy_file(other.statement(2), mixed.statement(2), stdfs::copy_options::overwrite_existing);
  stdfs::remove(mixed.statement(4));
  stdfs::remove(mixed.statement(6));
  resume(mixed, "step-00000002.h5.sig: it is a statement of another run");

  const SignedRun swapped;  // the same state, other words
  checkpoint::Meta meta = swapped.load(6).meta();
  meta.sample_shape.push_back(1);
  publish(swapped, meta, copy_of(swapped.load(6).state()));
  resume(swapped, "step-00000006.h5: it says that samples are 2 x 1, and those of the data are 2");
}

// --- forged

TEST(Forged, AnotherStateWithAValidHashAndDigest) {
  const SignedRun run;
  const checkpoint::Loaded loaded = run.load(4);
  state::State state = copy_of(loaded.state());
  state.tensors[0].tensor.data_ptr<float>()[0] += 1;
  checkpoint::Meta meta = loaded.meta();
  meta.state = state::digest(state).root;
  publish(run, meta, state);
  expect_forged(run, "step-00000004.h5.sig: its checkpoint is not the file that was signed",
                Code::kDiffer);
  EXPECT_EQ(verify(run.checkpoint(4), {.key = public_key_file(0)}).code(), Code::kCorrupt);
  remove_statements(run);  // alone, it is a whole checkpoint
  EXPECT_EQ(verify(run.checkpoint(4)).code(), Code::kOk);
}

TEST(Forged, AnOlderCheckpointAsANewerOneWithItsWordsEdited) {
  const SignedRun run;
  const ledger::Ledger ledger = ledger::read(real_file_system(), run.path() / "ledger.jsonl");
  state::State state = copy_of(run.load(2).state());
  state.step = Step(4);
  state.samples = ledger.entries[3].samples;
  checkpoint::Meta meta = run.load(2).meta();
  meta.chain = ledger.entries[3].chain;
  meta.state = state::digest(state).root;
  publish(run, meta, state);
  expect_forged(run, "step-00000004.h5.sig: its checkpoint is not the file that was signed",
                Code::kDiffer);
}

// All of it made to fit the older state: without the key, nothing tells.
TEST(Forged, AWholeRunAroundAnotherState) {
  const SignedRun run;
  state::State state = copy_of(run.load(6).state());
  state.tensors[0].tensor.data_ptr<float>()[0] += 1;
  checkpoint::Meta meta = run.load(6).meta();
  meta.state = state::digest(state).root;
  meta.chain = forge_ledger(run.path(), [&](ledger::Ledger& forged) {
    forged.entries[5].state = meta.state;
    forged.entries[5].commit = state::commit(state);
  });
  publish(run, meta, state);
  stdfs::remove_all(run.path() / "samples");
  expect_forged(run, "step-00000006.h5.sig: the ledger's chain at step 6 is not the one that was",
                Code::kDiffer);
  stdfs::remove(run.statement(6));
  expect_forged(run, "step-00000006.h5: step-00000006.h5.sig is missing", Code::kOk);
}

TEST(Forged, AStatementOfAnotherRunByTheSameKey) {
  const SignedRun run, other(2);
  stdfs::copy_file(other.statement(4), run.statement(4), stdfs::copy_options::overwrite_existing);
  expect_forged(run, "step-00000004.h5.sig: it is a statement of another run", Code::kDiffer);
}

TEST(Forged, AStatementOfAnotherStep) {
  const SignedRun run;
  stdfs::copy_file(run.statement(2), run.statement(4), stdfs::copy_options::overwrite_existing);
  expect_forged(run, "step-00000004.h5.sig: its name does not match its step, 2", Code::kDiffer);
}

TEST(Forged, AStatementDroppedFromTheChain) {
  for (const std::int64_t step : {2, 4}) {
    const SignedRun run;
    for (const char* part : {"", ".sha256", ".sig"})  // as if retention had taken all of it
      stdfs::remove(run.checkpoint(step).string() + part);
    expect_forged(run,
                  checkpoint::statement_name(Step(step + 2)) +
                      ": the statement that it names as its parent is missing",
                  Code::kCorrupt);
  }
}

// The limit: evidence without its end is shorter evidence. The step that is signed is said.
TEST(Forged, TheEndCutOffIsSeenByWhatIsSigned) {
  const SignedRun run;
  for (const char* part : {"", ".sha256", ".sig"}) stdfs::remove(run.checkpoint(6).string() + part);
  const VerifyResult result = run.verified();
  EXPECT_EQ(result.code(), Code::kOk) << lines_of(result);
  EXPECT_EQ(result.signed_to, Step(4));
  EXPECT_EQ(result.steps, 6);
}

}  // namespace
}  // namespace lockstep::audit
