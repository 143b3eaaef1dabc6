// Evidence that fits itself and not the run: a planted step 0, and what checkpoints claim beside
// their tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>

#include "audit/forged_ledger.h"
#include "audit/lines_of.h"
#include "lockstep/audit/diff.h"
#include "lockstep/audit/replay.h"
#include "lockstep/audit/verify.h"
#include "lockstep/checkpoint/store.h"
#include "lockstep/core/file_system.h"
#include "lockstep/hash/key_file.h"
#include "lockstep/ops/record.h"
#include "lockstep/train/sample.h"
#include "support/some_keys.h"
#include "train/some_run.h"

namespace lockstep::audit {
namespace {

namespace stdfs = std::filesystem;
using ::testing::HasSubstr;
using testing::SomeRun;

checkpoint::Loaded load(const SomeRun& run, std::int64_t step) {
  return checkpoint::load(real_file_system(),
                          run.path() / "checkpoints" / checkpoint::file_name(Step(step)));
}

using Change = std::function<void(checkpoint::Meta&, state::State&)>;

// The checkpoint of step 3, changed, with digest and sidecar made to fit, in the run's folder.
void plant(const SomeRun& run, const Change& change) {
  const checkpoint::Loaded loaded = load(run, 3);
  checkpoint::Meta meta = loaded.meta();
  state::State state = loaded.state();
  for (state::Named& named : state.tensors) named.tensor = named.tensor.clone();
  change(meta, state);
  meta.state = state::digest(state).root;
  checkpoint::publish(real_file_system(), run.path() / "checkpoints", meta, state);
}

// Trained weights under the name, chain and cursor of step 0.
void plant_start(const SomeRun& run) {
  const auto header = ledger::read(real_file_system(), run.path() / "ledger.jsonl").header;
  plant(run, [&](checkpoint::Meta& meta, state::State& state) {
    meta.chain = header.chain;
    state.step = Step(0);
    state.samples = 0;
  });
}

train::RunOptions options(const stdfs::path& folder, std::int64_t steps = 6) {
  return {.recipe = testing::small_gan({"run.seed=1", "run.steps=" + std::to_string(steps)}),
          .folder = folder};
}

template <class Body>
Error error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {Code::kOk, ""};
}

ReplayResult replay_alone(const ReplayOptions& options) {
  ReplayResult result;
  comm::run_local(1, [&](comm::Group& group) { result = replay(options, group); });
  return result;
}

TEST(PlantedStart, IsFoundByVerifyAndNamed) {
  const SomeRun run;
  plant_start(run);
  const VerifyResult result = verify(run.path());
  EXPECT_EQ(result.code(), Code::kDiffer);
  EXPECT_THAT(lines_of(result), HasSubstr("step-00000000.h5: its state is not the one that recipe "
                                          "and seed make"));
  const VerifyResult alone = verify(run.path() / "checkpoints/step-00000000.h5");
  EXPECT_EQ(alone.code(), Code::kDiffer) << lines_of(alone);
}

TEST(PlantedStart, IsNeverReplayedFrom) {
  const SomeRun run;
  plant_start(run);
  const Error error =
      error_of([&] { replay_alone({.folder = run.path(), .window = {}, .data = {}}); });
  EXPECT_EQ(error.code(), Code::kCorrupt);
  EXPECT_THAT(error.what(), HasSubstr("step-00000000.h5: its state is not the one"));
}

TEST(PlantedStart, IsNeverTrainedFromNorSigned) {
  const SomeRun other;
  plant_start(other);
  const lockstep::testing::TemporaryFolder folder;
  const stdfs::path key = folder.path() / "key", run = folder.path() / "run";
  hash::write_keys(key, lockstep::testing::some_key(0));
  stdfs::create_directories(run / "checkpoints");
  for (const char* end : {"", ".sha256"})
    stdfs::copy_file(other.path() / ("checkpoints/step-00000000.h5" + std::string(end)),
                     run / ("checkpoints/step-00000000.h5" + std::string(end)));
  train::RunOptions planted = options(run);
  planted.sign = key;
  // A folder that is no run yet, but has a run's names, is somebody else's.
  EXPECT_EQ(error_of([&] { testing::run_by(1, planted); }).code(), Code::kUsage);
  EXPECT_FALSE(stdfs::exists(run / "checkpoints/step-00000000.h5.sig"));

  // A run that has other checkpoints goes on from those, and does not sign it either.
  train::RunOptions more = options(other.path(), 7);
  more.sign = key;
  testing::run_by(1, more);
  EXPECT_FALSE(stdfs::exists(other.path() / "checkpoints/step-00000000.h5.sig"));
  EXPECT_TRUE(stdfs::exists(other.path() / "checkpoints/step-00000003.h5.sig"));
  EXPECT_EQ(verify(other.path(), {.key = key.string() + ".pub"}).code(), Code::kCorrupt);
}

// The real one is accepted, and verify says what it compared.
TEST(PlantedStart, ThatIsTheTrueOneHolds) {
  const SomeRun run;
  const auto header = ledger::read(real_file_system(), run.path() / "ledger.jsonl").header;
  train::Training fresh = train::make_training(options(run.path()).recipe, {2}, {.world = 1});
  checkpoint::Meta meta = load(run, 3).meta();
  meta.chain = header.chain;
  meta.state = state::digest(fresh.state).root;
  checkpoint::publish(real_file_system(), run.path() / "checkpoints", meta, fresh.state);
  const VerifyResult result = verify(run.path());
  EXPECT_EQ(result.code(), Code::kOk) << lines_of(result);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_THAT(result.notes.front(), HasSubstr("recomputed: recipe and seed make it"));
  EXPECT_FALSE(replay_alone({.folder = run.path(), .window = {}, .data = {}}).differs);
}

struct Claim {
  const char* name;
  Change change;
  const char* verify_says;
  Code code = Code::kDiffer;
  bool of_other_semantics = false;
};
const Claim kClaims[] = {
    {"shape", [](auto& meta, auto&) { meta.sample_shape = {3}; },
     "it says that samples are 3, and those of the data are 2"},
    {"semantics", [](auto& meta, auto&) { meta.semantics = 99; },
     "it names semantics 99, its ledger ", Code::kDiffer, true},
    {"text",
     [](auto& meta, auto&) { meta.recipe_text[meta.recipe_text.find("seed = 1") + 7] = '2'; },
     "its recipe's text does not have the id that it names", Code::kCorrupt},
};

TEST(Claims, OfACheckpointAreComparedByEveryCommand) {
  for (const Claim& claim : kClaims) {
    const SomeRun run, whole;
    plant(run, claim.change);
    const stdfs::path file = run.path() / "checkpoints/step-00000003.h5";
    for (const stdfs::path& path : {run.path(), file}) {
      if (path == file && claim.of_other_semantics) {  // nothing says that it should be of these
        const Error refused = error_of([&] { verify(path); });
        EXPECT_EQ(refused.code(), Code::kCannotCompare);
        EXPECT_THAT(refused.what(), HasSubstr("made with semantics 99"));
        continue;
      }
      const VerifyResult result = verify(path);
      EXPECT_EQ(result.code(), claim.code) << claim.name << lines_of(result);
      EXPECT_THAT(lines_of(result), HasSubstr(claim.verify_says)) << claim.name;
    }
    // Steps 4 to 6 would start from it.
    EXPECT_EQ(
        error_of([&] {
          replay_alone({.folder = run.path(), .window = {.from = Step(4), .to = {}}, .data = {}});
        }).code(),
        Code::kCorrupt)
        << claim.name;
    EXPECT_FALSE(diff(run.path(), whole.path()).same()) << claim.name;
    EXPECT_FALSE(diff(file, whole.path() / "checkpoints/step-00000003.h5").same()) << claim.name;
    const stdfs::path picture = run.path() / "more.png";
    for (const std::string end : {"h5", "h5.sha256"})  // the newest one
      stdfs::remove(run.path() / ("checkpoints/step-00000006." + end));
    for (const stdfs::path& source : {run.path(), file})
      EXPECT_NE(
          error_of([&] { train::sample({.source = source, .out = picture, .count = 4}); }).code(),
          Code::kOk)
          << claim.name << " " << source;
    EXPECT_FALSE(stdfs::exists(picture)) << claim.name;
  }
}

TEST(Claims, OfALedgersFirstLineAreCompared) {
  const SomeRun run;
  forge_ledger(run.path(), [](ledger::Ledger& forged) { forged.header.semantics = 99; });
  EXPECT_THAT(lines_of(verify(run.path())),
              HasSubstr("ledger.jsonl:1: it does not follow from recipe.toml"));
  EXPECT_EQ(
      error_of([&] { replay_alone({.folder = run.path(), .window = {}, .data = {}}); }).code(),
      Code::kCorrupt);
}

// Whatever stands in the place of evidence, verify goes on to the rest.
TEST(Verify, NamesWhatIsNoFileAndGoesOn) {
  using Put = std::function<void(const stdfs::path&)>;
  const Put puts[] = {[](const stdfs::path& path) { ::mkfifo(path.c_str(), 0600); },
                      [](const stdfs::path& path) { stdfs::create_directory(path); },
                      [](const stdfs::path& path) { stdfs::create_symlink("/dev/zero", path); }};
  for (const Put& put : puts) {
    for (const std::string& name : SomeRun::evidence()) {
      const SomeRun run;
      stdfs::remove(run.path() / name);
      put(run.path() / name);
      const std::string other = name == "samples/step-00000003.png" ? "samples/step-00000006.png"
                                                                    : "samples/step-00000003.png";
      std::string bytes = testing::read_bytes(run.path() / other);
      bytes[bytes.size() / 2] ^= 1;
      testing::write_bytes(run.path() / other, bytes);
      const VerifyResult result = verify(run.path());
      EXPECT_EQ(result.code(), Code::kCorrupt) << name;
      EXPECT_THAT(lines_of(result), HasSubstr(name.substr(name.find('/') + 1))) << name;
      if (name == "ledger.jsonl") continue;  // the rest is compared with it
      EXPECT_THAT(lines_of(result), HasSubstr(other)) << name;
    }
  }
}

// A ledger whose first step claims another beginning than the step 0 that lies there.
TEST(PlantedStart, MustBeWhereTheFirstStepStarted) {
  const SomeRun run;
  train::Training fresh = train::make_training(options(run.path()).recipe, {2}, {.world = 1});
  checkpoint::Meta meta = load(run, 3).meta();
  meta.chain = ledger::read(real_file_system(), run.path() / "ledger.jsonl").header.chain;
  meta.state = state::digest(fresh.state).root;
  checkpoint::publish(real_file_system(), run.path() / "checkpoints", meta, fresh.state);
  forge_ledger(run.path(), [](ledger::Ledger& forged) {
    forged.entries.resize(1);
    forged.entries.front().before = forged.entries.front().state;
  });
  for (const char* name : {"checkpoints/step-00000003", "checkpoints/step-00000006"})
    for (const char* end : {".h5", ".h5.sha256"})
      stdfs::remove(run.path() / (name + std::string(end)));
  stdfs::remove_all(run.path() / "samples");
  EXPECT_THAT(lines_of(verify(run.path())), HasSubstr("step 1 did not start from the state of"));
}

TEST(Verify, RefusesAFolderOfEvidenceThatIsNone) {
  const SomeRun run, other;
  for (const char* name : {"checkpoints", "samples"}) {
    stdfs::remove_all(run.path() / name);
    stdfs::create_directory_symlink(other.path() / name, run.path() / name);
  }
  const VerifyResult result = verify(run.path());
  EXPECT_EQ(result.code(), Code::kCorrupt);
  for (const char* name : {"checkpoints: it is a link", "samples: it is a link"})
    EXPECT_THAT(lines_of(result), HasSubstr(name));
}

TEST(Verify, CallsForeignWhatIsNothingOfTheRun) {
  const SomeRun run;
  testing::write_bytes(run.path() / "samples/notes.txt", "hello");
  testing::write_bytes(run.path() / "checkpoints/step-00000003.h5.interim", "x");
  const VerifyResult result = verify(run.path());
  EXPECT_EQ(result.code(), Code::kCorrupt);
  ASSERT_EQ(result.findings.size(), 2u) << lines_of(result);
  for (const Finding& finding : result.findings) EXPECT_STREQ(kind_of(finding), "foreign");
}

TEST(Verify, NotesHiddenFilesAndFolders) {
  const SomeRun run;
  testing::write_bytes(run.path() / "samples/.DS_Store", "hello");
  stdfs::create_directories(run.path() / "checkpoints/.ipynb_checkpoints");
  const VerifyResult result = verify(run.path());
  EXPECT_EQ(result.code(), Code::kOk) << lines_of(result);
  for (const char* name : {"samples/.DS_Store", "checkpoints/.ipynb_checkpoints"})
    EXPECT_THAT(result.notes,
                ::testing::Contains(HasSubstr(std::string(name) + " is not of this run")));
}

// Step 3 has no commit, and nobody signed it: only its digest, its chain and its data's hash tell.
TEST(PlantedState, IsFoundByWhateverReadsTheRun) {
  struct Plant {
    const char* says;
    Change change;
    Code read;  // how replay and training refuse it
  };
  const Plant plants[] = {
      {"its state is not what the ledger says of step 3",
       [](auto&, auto& state) {
         state.tensors[0].tensor.template mutable_data_ptr<float>()[0] += 1;
       },
       Code::kCorrupt},
      {"its ledger is another one", [](auto& meta, auto&) { meta.chain.bytes[0] ^= std::byte{1}; },
       Code::kCorrupt},
      {"it was trained on other data",
       [](auto& meta, auto&) { meta.data.bytes[0] ^= std::byte{1}; }, Code::kData}};
  for (const auto& [says, change, read] : plants) {
    const SomeRun run;
    plant(run, change);
    const VerifyResult result = verify(run.path());
    EXPECT_EQ(result.code(), Code::kDiffer) << says;
    EXPECT_THAT(lines_of(result), HasSubstr(says));
    const Code replayed =
        error_of([&] {
          replay_alone({.folder = run.path(), .window = {.from = Step(4), .to = {}}, .data = {}});
        }).code();
    EXPECT_EQ(replayed, read) << says;
    for (const std::string end : {"h5", "h5.sha256"})  // the newest one
      stdfs::remove(run.path() / ("checkpoints/step-00000006." + end));
    const Code resumed = error_of([&] { testing::run_by(1, options(run.path(), 7)); }).code();
    EXPECT_EQ(resumed, read) << says;
  }
}

TEST(Ledgers, EveryStepStartsFromWhatTheOneBeforeLeft) {
  for (const std::size_t step : {std::size_t{2}, std::size_t{6}}) {
    const SomeRun run;
    forge_ledger(run.path(), [&](ledger::Ledger& forged) {
      forged.entries[step - 1].before = forged.entries[step - 1].state;
    });
    for (const char* part : {"checkpoints", "samples"}) stdfs::remove_all(run.path() / part);
    EXPECT_THAT(lines_of(verify(run.path())),
                HasSubstr("step " + std::to_string(step) + " did not start from the state"));
  }
}

}  // namespace
}  // namespace lockstep::audit
