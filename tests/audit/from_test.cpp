// Runs that start from another run's state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "audit/lines_of.h"
#include "lockstep/audit/replay.h"
#include "lockstep/audit/verify.h"
#include "lockstep/checkpoint/store.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/log.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/batches.h"
#include "lockstep/train/initial_state.h"
#include "lockstep/train/step.h"
#include "train/some_run.h"

namespace lockstep::audit {
namespace {

namespace stdfs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SomeRun;

// Three more steps from step 3 of the parent.
train::RunOptions continuing(const stdfs::path& parent, const stdfs::path& folder,
                             const std::vector<std::string>& more = {}) {
  log::set_quiet(true);
  std::vector<std::string> all = {"run.seed=1", "run.steps=3"};
  all.insert(all.end(), more.begin(), more.end());
  const recipe::Recipe given = testing::small_gan(all);
  const train::SavedState from{parent, Step(3)};
  return {.recipe = train::start_from(from, given).recipe,
          .folder = folder,
          .shard = train::Shard::kNone,
          .sign = {},
          .start = [=] { return train::start_from(from, given).state; }};
}

ledger::Ledger ledger_in(const stdfs::path& folder) {
  return ledger::read(real_file_system(), folder / "ledger.jsonl");
}

template <class Body>
std::string refusal(Code code, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

ReplayResult replay_alone(const ReplayOptions& options) {
  ReplayResult result;
  comm::run_local(1, [&](comm::Group& group) { result = replay(options, group); });
  return result;
}

TEST(ParentOfText, HasAFolderAndPerhapsAStep) {
  EXPECT_EQ(train::parse_saved_state("runs/a").folder, "runs/a");
  EXPECT_FALSE(train::parse_saved_state("runs/a").step);
  EXPECT_EQ(train::parse_saved_state("runs/a@b@30").folder, "runs/a@b");
  EXPECT_EQ(train::parse_saved_state("runs/a@30").step, Step(30));
  EXPECT_EQ(train::parse_saved_state("a@0").step, Step(0));
  for (const char* text : {"a@", "a@x", "a@-3"})
    EXPECT_THAT(refusal(Code::kUsage, [&] { train::parse_saved_state(text); }), HasSubstr(text));
}

// The same recipe: the child's steps 1 to 3 are the parent's 4 to 6 to the last bit, in everything
// but the number of the step. So weights, slots, averages, cursor and count of updates went on.
TEST(ChildOfTheSameRecipe, ComputesWhatTheParentWouldHave) {
  const SomeRun parent;
  const lockstep::testing::TemporaryFolder folder;
  const stdfs::path run = folder.path() / "run";
  testing::run_by(1, continuing(parent.path(), run));
  const ledger::Ledger mine = ledger_in(run), theirs = ledger_in(parent.path());
  ASSERT_EQ(mine.entries.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(mine.entries[i].losses, theirs.entries[i + 3].losses);
    EXPECT_EQ(mine.entries[i].samples, theirs.entries[i + 3].samples);
  }
  const auto ours = checkpoint::load(real_file_system(), run / "checkpoints/step-00000003.h5"),
             other = checkpoint::load(real_file_system(),
                                      parent.path() / "checkpoints/step-00000006.h5");
  EXPECT_TRUE(state::compare(ours.state(), other.state()).empty());
  ASSERT_TRUE(mine.header.from);
  EXPECT_EQ(mine.header.from->recipe, theirs.header.recipe);
  EXPECT_EQ(mine.header.from->step, Step(3));
  EXPECT_NE(mine.header.recipe, theirs.header.recipe);
}

// Slots at zero, updates counted from 1: the parent's weights, buffers, averages and place in the
// data, put into a fresh run, give the same steps.
TEST(ChildThatBeginsAnew, ComputesWhatAFreshRunOfTheseWeightsWould) {
  const SomeRun parent;
  const lockstep::testing::TemporaryFolder folder;
  const stdfs::path run = folder.path() / "run", other = folder.path() / "other";
  const std::string warmup = "generator.optimizer.warmup=3";
  testing::run_by(1, continuing(parent.path(), run, {warmup, "run.from.optimizer=anew"}));
  testing::run_by(1, continuing(parent.path(), other, {warmup}));
  const auto entries = ledger_in(run).entries, going_on = ledger_in(other).entries;
  ASSERT_EQ(entries.size(), 3u);

  const recipe::Recipe recipe = testing::small_gan({"run.seed=1", warmup});
  const auto dataset = data::open(recipe.data);
  train::Training training = train::make_training(recipe, dataset->sample_shape(), {.world = 1});
  const auto loaded =
      checkpoint::load(real_file_system(), parent.path() / "checkpoints/step-00000003.h5");
  int slots = 0;
  for (state::Named& own : training.state.tensors) {
    const auto kind = [&](const char* name) { return own.name.find(name) != std::string::npos; };
    if (!kind("/param/") && !kind("/buffer/") && !kind("/ema/")) {
      ++slots;
      continue;
    }
    const auto theirs =
        std::ranges::find(loaded.state().tensors, own.name, &state::Named::name)->tensor;
    std::copy_n(theirs.const_data_ptr<float>(), theirs.numel(),
                own.tensor.mutable_data_ptr<float>());
  }
  EXPECT_GT(slots, 0);
  training.state.samples = loaded.state().samples;
  comm::run_local(1, [&](comm::Group& group) {
    train::Batches batches(*dataset, recipe, training.plan, Rank(0));
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const train::StepRecord record = step(training, group, std::ref(batches));
      EXPECT_EQ(record.entry.state, entries[i].state) << i;
      EXPECT_EQ(record.entry.losses, entries[i].losses) << i;
      EXPECT_NE(record.entry.state, going_on[i].state) << i;
    }
  });
}

TEST(ChildThatBeginsAnew, IsVerifiedReplayedAndCountedByItsOwnChildren) {
  const SomeRun parent;
  const lockstep::testing::TemporaryFolder folder;
  const stdfs::path run = folder.path() / "run", child = folder.path() / "child";
  testing::run_by(1, continuing(parent.path(), run, {"run.from.optimizer=anew"}));
  const VerifyResult verified = verify(run, {.parents = {parent.path()}});
  EXPECT_EQ(verified.code(), Code::kOk) << lines_of(verified);
  EXPECT_THAT(verified.notes,
              ::testing::Contains("step 0 is the state of " + parent.path().string() + "@3"));
  EXPECT_FALSE(
      replay_alone({.folder = run, .window = {}, .data = {}, .parent = parent.path()}).differs);
  const train::RunOptions next = continuing(run, child);
  EXPECT_EQ(next.recipe.run.from.updates, 3);
  EXPECT_EQ(recipe::updates_before(next.recipe), 3);
  testing::run_by(1, next);
  EXPECT_EQ(verify(child, {.parents = {run, parent.path()}}).code(), Code::kOk);
}

TEST(Child, HasTheSameBytesByAnyRanksAndInterrupted) {
  const SomeRun parent;
  const lockstep::testing::TemporaryFolder folder;
  const stdfs::path one = folder.path() / "one";
  testing::run_by(1, continuing(parent.path(), one));
  const auto same = [&](const stdfs::path& other) {
    for (const char* name : {"ledger.jsonl", "recipe.toml", "checkpoints/step-00000000.h5",
                             "checkpoints/step-00000003.h5", "samples/step-00000003.png"})
      EXPECT_EQ(testing::read_bytes(one / name), testing::read_bytes(other / name)) << name;
  };
  const stdfs::path three = folder.path() / "three";
  train::RunOptions divided = continuing(parent.path(), three);
  divided.shard = train::Shard::kOptimizer;
  testing::run_by(3, divided);
  same(three);
  const stdfs::path stopped = folder.path() / "stopped";
  for (const char* steps : {"run.steps=0", "run.steps=1", "run.steps=3"})
    testing::run_by(2, continuing(parent.path(), stopped, {steps}));
  same(stopped);
}

TEST(Child, GoesOnWithoutItsParentAndIsReplayedFromItsOwnFolder) {
  const lockstep::testing::TemporaryFolder folder;
  const stdfs::path run = folder.path() / "run";
  train::RunOptions options;
  {
    const SomeRun parent;
    options = continuing(parent.path(), run);
    options.recipe.run.steps = 1;
    testing::run_by(1, options);
  }
  options.start = {};
  options.recipe.run.steps = 3;
  testing::run_by(1, options);
  const ReplayResult result = replay_alone({.folder = run, .window = {}, .data = {}});
  EXPECT_FALSE(result.differs);
  EXPECT_EQ(result.compared, 3);
  EXPECT_THAT(result.start, HasSubstr("step 0 is taken from step 3 of recipe"));
  const VerifyResult verified = verify(run);
  EXPECT_EQ(verified.code(), Code::kOk) << lines_of(verified);
  EXPECT_THAT(verified.notes, ElementsAre(HasSubstr("the SHA-256 tree that the recipe names"),
                                          HasSubstr("which is not checked (--parent)")));
}

TEST(Child, WithoutItsFirstStateIsRefused) {
  const SomeRun parent;
  const lockstep::testing::TemporaryFolder folder;
  const stdfs::path run = folder.path() / "run";
  train::RunOptions options = continuing(parent.path(), run);
  testing::run_by(1, options);
  for (const stdfs::path& file : stdfs::directory_iterator(run / "checkpoints"))
    stdfs::remove(file);
  EXPECT_THAT(
      refusal(Code::kCorrupt, [&] { replay_alone({.folder = run, .window = {}, .data = {}}); }),
      HasSubstr("step-00000000.h5 is missing"));
  options.start = {};
  EXPECT_THAT(refusal(Code::kUsage, [&] { testing::run_by(1, options); }), HasSubstr("--from"));
  options.folder = folder.path() / "new";
  refusal(Code::kUsage, [&] { testing::run_by(1, options); });
  EXPECT_FALSE(stdfs::exists(options.folder));
}

// Verify and replay follow the chain of runs where they are at hand.
TEST(Child, IsComparedWithItsParentAndThatOnesParent) {
  const SomeRun first;
  const lockstep::testing::TemporaryFolder folder;
  const stdfs::path second = folder.path() / "second", third = folder.path() / "third";
  testing::run_by(1, continuing(first.path(), second));
  testing::run_by(1, continuing(second, third, {"generator.optimizer.lr=2e-4"}));
  EXPECT_EQ(recipe::of_run(real_file_system(), third).run.from.updates, 6);
  const VerifyResult result = verify(third, {.parents = {second, first.path()}});
  EXPECT_EQ(result.code(), Code::kOk) << lines_of(result);
  EXPECT_THAT(result.notes,
              ::testing::Contains("step 0 is the state of " + second.string() + "@3"));
  EXPECT_THAT(result.notes,
              ::testing::Contains("step 0 is the state of " + first.path().string() + "@3"));
  EXPECT_EQ(replay_alone({.folder = third, .window = {}, .data = {}, .parent = second}).start,
            "step 0 is the state of " + second.string() + "@3");

  std::string bytes = testing::read_bytes(first.path() / "checkpoints/step-00000006.h5");
  bytes[bytes.size() / 2] ^= 1;
  testing::write_bytes(first.path() / "checkpoints/step-00000006.h5", bytes);
  EXPECT_EQ(verify(second, {.parents = {first.path()}}).code(), Code::kCorrupt);
}

// What is wrong with the run itself is found whatever --parent names.
TEST(Child, IsVerifiedBesideWhatIsNotItsParent) {
  const SomeRun parent, other(2);
  const lockstep::testing::TemporaryFolder folder;
  const stdfs::path run = folder.path() / "run", none = folder.path() / "none";
  testing::run_by(1, continuing(parent.path(), run));
  stdfs::create_directory(none);
  const VerifyResult wrong = verify(run, {.parents = {other.path()}});
  EXPECT_EQ(wrong.code(), Code::kDiffer);
  EXPECT_EQ(lines_of(wrong),
            other.path().string() +
                " is of another recipe than the run that this one starts from "
                "(give the run of recipe " +
                recipe::of_run(real_file_system(), run).run.from.recipe.substr(0, 12) + ")\n");
  testing::write_bytes(run / "samples/step-00000003.png", "no picture");
  const VerifyResult both = verify(run, {.parents = {other.path()}});
  EXPECT_EQ(both.code(), Code::kCorrupt);
  ASSERT_EQ(both.findings.size(), 2u);
  EXPECT_THAT(both.findings[0].what, HasSubstr("step-00000003.png"));
  EXPECT_THAT(both.findings[1].what, HasSubstr("is of another recipe"));
  stdfs::remove(other.path() / "recipe.toml");
  EXPECT_THAT(lines_of(verify(run, {.parents = {other.path()}})),
              HasSubstr((other.path() / "recipe.toml").string() + " is missing"));
  EXPECT_THAT(refusal(Code::kUsage, [&] { verify(run, {.parents = {none}}); }),
              HasSubstr("is not a run folder"));
  EXPECT_THAT(
      refusal(Code::kUsage,
              [&] { replay_alone({.folder = run, .window = {}, .data = {}, .parent = none}); }),
      HasSubstr("is not a run"));
}

// Retention takes checkpoints; the parent's ledger still has the digest of its state.
TEST(Child, IsComparedWithItsParentsLedgerWhereTheCheckpointIsGone) {
  const SomeRun parent, other(2);
  const lockstep::testing::TemporaryFolder folder;
  const stdfs::path run = folder.path() / "run", anew = folder.path() / "anew",
                    forged = folder.path() / "forged";
  testing::run_by(1, continuing(parent.path(), run));
  testing::run_by(1, continuing(parent.path(), anew, {"run.from.optimizer=anew"}));
  // A child of another run that names this one: only the state tells.
  train::RunOptions lie = continuing(other.path(), forged);
  lie.recipe.run.from.recipe = recipe::id(recipe::of_run(real_file_system(), parent.path())).hex();
  testing::run_by(1, lie);
  for (const char* tail : {"", ".sha256"})
    stdfs::remove(parent.path() / ("checkpoints/step-00000003.h5" + std::string(tail)));

  const VerifyResult result = verify(run, {.parents = {parent.path()}});
  EXPECT_EQ(result.code(), Code::kOk) << lines_of(result);
  const std::string place = parent.path().string() + "@3";
  EXPECT_THAT(result.notes, ::testing::Contains("step 0 has the digest that the ledger of " +
                                                place + " has there"));
  for (const stdfs::path& child : {anew, forged}) {
    const VerifyResult unknown = verify(child, {.parents = {parent.path()}});
    EXPECT_EQ(unknown.code(), Code::kEnvironment);
    EXPECT_THAT(lines_of(unknown), HasSubstr("step 0 cannot be compared with " + place));
    EXPECT_THAT(refusal(Code::kEnvironment,
                        [&] {
                          replay_alone(
                              {.folder = child, .window = {}, .data = {}, .parent = parent.path()});
                        }),
                HasSubstr("step 0 cannot be compared"));
  }
}

// The parent's ledger knows how many steps and updates there were.
TEST(ChildsRecipe, IsHeldAgainstTheParentsLedger) {
  const SomeRun parent;
  const lockstep::testing::TemporaryFolder folder;
  recipe::Recipe recipe = continuing(parent.path(), folder.path()).recipe;
  EXPECT_THAT(train::compare_parent(parent.path(), recipe, folder.path()),
              HasSubstr("step 0 is the state of"));
  recipe.run.from.updates = 99;
  EXPECT_THAT(
      refusal(Code::kDiffer, [&] { train::compare_parent(parent.path(), recipe, folder.path()); }),
      HasSubstr("after 3 updates, and its recipe says 99"));
  recipe.run.from.step = recipe.run.from.updates = 99;
  EXPECT_THAT(
      refusal(Code::kDiffer, [&] { train::compare_parent(parent.path(), recipe, folder.path()); }),
      HasSubstr("whose ledger ends at step 6"));
  recipe::Recipe other = testing::small_gan({"generator.hidden=16"});
  other.run.start = "run";
  other.run.from = continuing(parent.path(), folder.path()).recipe.run.from;
  EXPECT_THAT(
      refusal(Code::kDiffer, [&] { train::compare_parent(parent.path(), other, folder.path()); }),
      HasSubstr("has another shape there"));
}

TEST(ChildsFirstState, IsMissedByVerifyAndKeptWhateverMarksIt) {
  const SomeRun parent;
  const lockstep::testing::TemporaryFolder folder;
  const stdfs::path run = folder.path() / "run", start = run / "checkpoints/step-00000000.h5";
  testing::run_by(1, continuing(parent.path(), run));
  testing::write_bytes(start.string() + ".interim", "");
  testing::run_by(1, continuing(parent.path(), run, {"run.steps=4", "checkpoint.every=0"}));
  EXPECT_TRUE(stdfs::exists(start));
  for (const char* end : {"", ".sha256"}) stdfs::remove(start.string() + end);
  const VerifyResult result = verify(run);
  EXPECT_EQ(result.code(), Code::kCorrupt);
  EXPECT_THAT(lines_of(result), HasSubstr("step-00000000.h5 is missing"));
}

TEST(ChildsFirstState, IsWhatTheRecipeNamesAndNothingElse) {
  const SomeRun parent;
  const lockstep::testing::TemporaryFolder folder;
  const stdfs::path run = folder.path() / "run";
  testing::run_by(1, continuing(parent.path(), run));
  const auto loaded = checkpoint::load(real_file_system(), run / "checkpoints/step-00000000.h5");
  checkpoint::Meta meta = loaded.meta();
  state::State state = loaded.state();
  state.tensors[0].tensor = state.tensors[0].tensor.clone();
  state.tensors[0].tensor.mutable_data_ptr<float>()[0] += 1;
  meta.state = state::digest(state).root;
  checkpoint::publish(real_file_system(), run / "checkpoints", meta, state);
  const VerifyResult result = verify(run);
  EXPECT_EQ(result.code(), Code::kDiffer);
  EXPECT_THAT(lines_of(result), HasSubstr("not the one that the recipe starts from"));
  refusal(Code::kCorrupt, [&] { replay_alone({.folder = run, .window = {}, .data = {}}); });
}

TEST(Start, SaysWhatDoesNotGoOn) {
  const SomeRun parent;
  const auto start = [&](const std::vector<std::string>& more) {
    return train::start_from({parent.path(), std::nullopt}, testing::small_gan(more));
  };
  EXPECT_TRUE(start({}).notes.empty());
  EXPECT_EQ(start({}).recipe.run.from.step, 6);  // the newest
  const train::Start other = start({"generator.optimizer.kind=sgd"});
  EXPECT_THAT(other.notes, ElementsAre(HasSubstr("generator: the slots of sgd start at zero")));
  EXPECT_THAT(other.notes, Not(ElementsAre(HasSubstr("learning rate"))));
  EXPECT_THAT(start({"discriminator.optimizer.kind=adamw"}).notes,
              ElementsAre(AllOf(HasSubstr("discriminator: the slots of adamw start at zero"),
                                HasSubstr("up to 7 times the learning rate"))));
  for (const state::Named& named : other.state.tensors) {
    if (!named.name.starts_with("generator/momentum/")) continue;
    EXPECT_EQ(named.tensor.abs().max().item<float>(), 0) << named.name;
  }
  EXPECT_THAT(refusal(Code::kUsage, [&] { start({"generator.hidden=16"}); }),
              HasSubstr("has another shape there"));
  EXPECT_THAT(refusal(Code::kUsage,
                      [&] {
                        train::start_from({parent.path(), Step(4)}, testing::small_gan());
                      }),
              HasSubstr("there are those of steps 3, 6"));
}

}  // namespace
}  // namespace lockstep::audit
