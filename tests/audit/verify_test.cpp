#include "lockstep/audit/verify.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>

#include "audit/forged_ledger.h"
#include "audit/lines_of.h"
#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"
#include "lockstep/ledger/ledger.h"
#include "train/some_run.h"

namespace lockstep::audit {
namespace {

namespace stdfs = std::filesystem;
using testing::read_bytes;
using testing::SomeRun;
using testing::write_bytes;

bool names(const VerifyResult& result, const std::string& word) {
  return lines_of(result).find(word) != std::string::npos;
}

void expect_refused(const stdfs::path& path, Code code, const std::string& what) {
  const VerifyResult result = verify(path);
  EXPECT_EQ(result.code(), code) << lines_of(result);
  EXPECT_TRUE(names(result, what)) << "not named: " << what << "\n" << lines_of(result);
}

std::vector<std::string> ledger_lines(const SomeRun& run) {
  std::vector<std::string> lines;
  for (const char c : read_bytes(run.path() / "ledger.jsonl")) {
    if (lines.empty() || lines.back().ends_with('\n')) lines.emplace_back();
    lines.back() += c;
  }
  return lines;
}

void write_ledger(const SomeRun& run, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  write_bytes(run.path() / "ledger.jsonl", text);
}

// With one entry changed.
template <class Change>
void forge_ledger(const SomeRun& run, std::size_t step, Change&& change) {
  audit::forge_ledger(run.path(),
                      [&](ledger::Ledger& forged) { change(forged.entries.at(step - 1)); });
}

TEST(Verify, AcceptsARunAndEachOfItsCheckpoints) {
  const SomeRun run;
  const VerifyResult result = verify(run.path());
  EXPECT_EQ(result.code(), Code::kOk) << lines_of(result);
  EXPECT_EQ(result.steps, 6);
  EXPECT_EQ(result.checkpoints, 2);
  EXPECT_EQ(result.pictures, 2);
  for (const char* name : {"checkpoints/step-00000003.h5", "checkpoints/step-00000006.h5"})
    EXPECT_EQ(verify(run.path() / name).code(), Code::kOk) << name;
}

// A case changes one byte of each of the eight files, one file at a time: 100 cases are 800
// damages.
RC_GTEST_PROP(Verify, RefusesAnySingleChangedByteAndNamesItsFile, ()) {
  static const SomeRun run;
  for (const std::string& name : SomeRun::evidence()) {
    const stdfs::path path = run.path() / name;
    const std::string whole = read_bytes(path);
    std::string damaged = whole;
    const auto at = *rc::gen::inRange<std::size_t>(0, whole.size());
    damaged[at] = static_cast<char>(whole[at] ^ *rc::gen::inRange(1, 256));
    write_bytes(path, damaged);
    const VerifyResult result = verify(run.path());
    const VerifyResult alone = name.ends_with(".h5") ? verify(path) : result;
    write_bytes(path, whole);
    RC_LOG() << name << ", byte " << at << ": " << lines_of(result) << std::endl;
    RC_ASSERT(result.code() == Code::kCorrupt);
    RC_ASSERT(alone.code() == Code::kCorrupt);
    RC_ASSERT(names(result, name.substr(name.find('/') + 1)));
  }
  RC_ASSERT(verify(run.path()).code() == Code::kOk);
}

RC_GTEST_PROP(Verify, RefusesAFileTruncatedAnywhereAndNamesIt, ()) {
  static const SomeRun run;
  for (const std::string& name : SomeRun::evidence()) {
    const stdfs::path path = run.path() / name;
    const std::string whole = read_bytes(path);
    write_bytes(path, whole.substr(0, *rc::gen::inRange<std::size_t>(0, whole.size())));
    const VerifyResult result = verify(run.path());
    write_bytes(path, whole);
    RC_LOG() << name << ": " << lines_of(result) << std::endl;
    RC_ASSERT(result.code() == Code::kCorrupt);
    RC_ASSERT(names(result, name.substr(name.find('/') + 1)));
  }
}

TEST(Verify, RefusesAFileWithSomethingBehindItsEnd) {
  const SomeRun run;
  for (const std::string& name : SomeRun::evidence()) {
    const std::string whole = read_bytes(run.path() / name);
    for (const std::string& tail : {std::string("\n"), std::string(1, '\0'), std::string("x\n")}) {
      write_bytes(run.path() / name, whole + tail);
      expect_refused(run.path(), Code::kCorrupt, name.substr(name.find('/') + 1));
    }
    write_bytes(run.path() / name, whole);
  }
}

TEST(Verify, RefusesALedgerWithALineDroppedRepeatedSwappedOrChangedAndNamesTheLine) {
  const SomeRun run;
  const std::vector<std::string> whole = ledger_lines(run);
  ASSERT_EQ(whole.size(), 7u);  // header and six steps
  const auto line = [](std::size_t i) { return "ledger.jsonl:" + std::to_string(i + 1) + ":"; };
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::vector<std::string> lines = whole;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i));
    write_ledger(run, lines);
    // Without its last line the ledger is whole: the last checkpoint shows that one is missing.
    const bool last = i + 1 == whole.size();
    expect_refused(run.path(), Code::kCorrupt, last ? "ledger.jsonl ends at step 5" : line(i));

    lines = whole;
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(i), whole[i]);
    write_ledger(run, lines);
    expect_refused(run.path(), Code::kCorrupt, line(i + 1));

    for (std::size_t j = i + 1; j < whole.size(); ++j) {
      lines = whole;
      std::swap(lines[i], lines[j]);
      write_ledger(run, lines);
      expect_refused(run.path(), Code::kCorrupt, line(i));
    }

    lines = whole;
    const std::size_t digit = lines[i].find_last_of("0123456789", lines[i].find(",\"chain\""));
    lines[i][digit] = lines[i][digit] == '1' ? '2' : '1';
    write_ledger(run, lines);
    expect_refused(run.path(), Code::kCorrupt, line(i));
  }
}

TEST(Verify, RefusesALedgerThatWasRewrittenWithNewChains) {
  const SomeRun run;
  const std::string whole = read_bytes(run.path() / "ledger.jsonl");
  forge_ledger(run, 2, [](ledger::Entry& entry) { entry.losses[0].second += 1; });
  expect_refused(run.path(), Code::kDiffer, "step-00000003.h5: its ledger is another one");
  write_bytes(run.path() / "ledger.jsonl", whole);
  forge_ledger(run, 5, [](ledger::Entry& entry) { entry.state = entry.before; });
  expect_refused(run.path(), Code::kDiffer, "ledger.jsonl: step 6 did not start from the state");
  write_bytes(run.path() / "ledger.jsonl", whole);
  forge_ledger(run, 6, [](ledger::Entry& entry) { entry.commit = entry.before; });
  expect_refused(run.path(), Code::kDiffer,
                 "step-00000006.h5: its bytes are not what the ledger's");
}

// Whole in itself, with the chains of what it says; only the recipe tells.
TEST(Verify, RefusesALedgerThatDoesNotFollowFromItsRecipe) {
  const std::vector<std::pair<const char*, std::function<void(ledger::Entry&)>>> lies = {
      {"step 2: it says", [](ledger::Entry& entry) { entry.samples += 1; }},
      {"step 2: its losses are not those",
       [](ledger::Entry& entry) { entry.losses[0].first = "d"; }},
      {"step 2: its losses are not those", [](ledger::Entry& entry) { entry.losses.pop_back(); }},
      {"step 2: it has no commit", [](ledger::Entry& entry) { entry.commit.reset(); }},
      {"step 3: it has a commit", [](ledger::Entry& entry) { entry.commit = entry.state; }}};
  for (const auto& [what, lie] : lies) {
    const SomeRun run;
    forge_ledger(run, std::string(what).starts_with("step 3") ? 3 : 2, lie);
    for (const char* kept : {"checkpoints", "samples"}) stdfs::remove_all(run.path() / kept);
    expect_refused(run.path(), Code::kDiffer, what);
    try {
      testing::run_by(
          1, {.recipe = testing::small_gan({"run.seed=1", "run.steps=7"}), .folder = run.path()});
      ADD_FAILURE() << "it went on: " << what;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kCorrupt) << error.what();
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  }
}

TEST(Verify, KnowsWhichStepsTrainTheGenerator) {
  const testing::TemporaryFolder folder;
  testing::run_by(1, {.recipe = testing::small_gan({"objective.discriminator_steps=2"}),
                      .folder = folder.path()});
  EXPECT_EQ(verify(folder.path()).code(), Code::kOk) << lines_of(verify(folder.path()));
  const std::string whole = read_bytes(folder.path() / "ledger.jsonl");
  for (const char* kept : {"checkpoints", "samples"}) stdfs::remove_all(folder.path() / kept);
  audit::forge_ledger(folder.path(), [](ledger::Ledger& forged) {
    forged.entries[2].losses.emplace_back("generator", 1.0F);
  });
  expect_refused(folder.path(), Code::kDiffer, "step 3: its losses are not those");
  write_bytes(folder.path() / "ledger.jsonl", whole);
  audit::forge_ledger(folder.path(),
                      [](ledger::Ledger& forged) { forged.entries[3].losses.pop_back(); });
  expect_refused(folder.path(), Code::kDiffer, "step 4: its losses are not those");
}

TEST(Verify, RefusesTheLedgerOfAnotherRun) {
  const SomeRun run, other(2);
  stdfs::copy_file(other.path() / "ledger.jsonl", run.path() / "ledger.jsonl",
                   stdfs::copy_options::overwrite_existing);
  expect_refused(run.path(), Code::kDiffer, "ledger.jsonl: it is the ledger of another recipe");
}

TEST(Verify, RefusesMissingEvidence) {
  for (const std::string name : {"recipe.toml", "ledger.jsonl"}) {
    const SomeRun run;
    stdfs::remove(run.path() / name);
    expect_refused(run.path(), Code::kCorrupt, name + " is missing");
  }
  const SomeRun run;
  stdfs::remove(run.path() / "checkpoints/step-00000003.h5.sha256");
  expect_refused(run.path(), Code::kCorrupt, "step-00000003.h5.sha256 is missing");
  expect_refused(run.path() / "checkpoints/step-00000003.h5", Code::kCorrupt,
                 "step-00000003.h5.sha256 is missing");
}

// `from`, with or without its sidecar, under the name of `to`.
void replace(const stdfs::path& from, const stdfs::path& to, bool sidecar) {
  constexpr auto kOverwrite = stdfs::copy_options::overwrite_existing;
  stdfs::copy_file(from, to, kOverwrite);
  if (sidecar) stdfs::copy_file(from.string() + ".sha256", to.string() + ".sha256", kOverwrite);
}

TEST(Verify, RefusesACheckpointOfAnotherStepUnderItsName) {
  const SomeRun run;
  const stdfs::path third = run.path() / "checkpoints/step-00000003.h5";
  const stdfs::path sixth = run.path() / "checkpoints/step-00000006.h5";
  replace(third, sixth, /*sidecar=*/true);
  expect_refused(run.path(), Code::kDiffer,
                 "step-00000006.h5: its name does not match its step, 3");
  expect_refused(sixth, Code::kDiffer, "step-00000006.h5: its name does not match its step, 3");
  const SomeRun again;
  replace(third, again.path() / "checkpoints/step-00000006.h5", /*sidecar=*/false);
  expect_refused(again.path(), Code::kCorrupt, "step-00000006.h5");
}

TEST(Verify, RefusesACheckpointAndAPictureOfAnotherRun) {
  const SomeRun run, other(2);
  const stdfs::path checkpoint = "checkpoints/step-00000006.h5",
                    picture = "samples/step-00000006.png";
  replace(other.path() / checkpoint, run.path() / checkpoint, /*sidecar=*/true);
  expect_refused(run.path(), Code::kDiffer,
                 "step-00000006.h5: it is a checkpoint of another recipe");
  const SomeRun again;
  replace(other.path() / picture, again.path() / picture, /*sidecar=*/false);
  expect_refused(again.path(), Code::kDiffer, "step-00000006.png: it was made by another recipe");
}

TEST(Verify, RefusesAPictureOfAnotherStepUnderItsName) {
  const SomeRun run;
  replace(run.path() / "samples/step-00000003.png", run.path() / "samples/step-00000006.png",
          /*sidecar=*/false);
  expect_refused(run.path(), Code::kDiffer,
                 "step-00000006.png: its name does not match its step, 3");
}

TEST(Verify, NamesAllThatIsWrongNotTheFirstOnly) {
  const SomeRun run;
  for (const std::string& name : SomeRun::evidence()) {
    if (name.ends_with(".png") || name.ends_with(".h5")) {
      std::string bytes = read_bytes(run.path() / name);
      bytes[bytes.size() / 2] ^= 1;
      write_bytes(run.path() / name, bytes);
    }
  }
  EXPECT_EQ(verify(run.path()).findings.size(), 4u);
}

TEST(Verify, SaysUsageForWhatIsNoEvidence) {
  const lockstep::testing::TemporaryFolder folder;
  write_bytes(folder.path() / "note.txt", "hello");
  for (const stdfs::path& path :
       {folder.path(), folder.path() / "note.txt", folder.path() / "nothing"}) {
    try {
      verify(path);
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUsage) << error.what();
    }
  }
}

TEST(Verify, ChangesNothing) {
  const SomeRun run;
  std::vector<std::string> before, after;
  for (const std::string& name : SomeRun::evidence())
    before.push_back(read_bytes(run.path() / name));
  verify(run.path());
  for (const std::string& name : SomeRun::evidence())
    after.push_back(read_bytes(run.path() / name));
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace lockstep::audit
