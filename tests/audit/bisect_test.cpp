// Traces: the file says what was traced, and the first odd op is the one that computed other bits.
#include "lockstep/audit/bisect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lockstep/core/error.h"
#include "lockstep/ledger/ledger.h"
#include "train/some_run.h"

namespace lockstep::audit {
namespace {

using lockstep::testing::TemporaryFolder;
using ::testing::HasSubstr;

Trace traced(const std::filesystem::path& run, std::int64_t step) {
  return trace({.folder = run, .step = Step(step)}).trace;
}

TEST(Trace, IsTheSameTwiceAndReadsBack) {
  const testing::SomeRun run;
  const TemporaryFolder folder;
  const Trace first = traced(run.path(), 5);
  write_trace(folder.path() / "a", first);
  write_trace(folder.path() / "b", traced(run.path(), 5));
  EXPECT_EQ(testing::read_bytes(folder.path() / "a"), testing::read_bytes(folder.path() / "b"));
  const Trace read = read_trace(folder.path() / "a");
  EXPECT_FALSE(first_divergence(first, read).has_value());
  write_trace(folder.path() / "c", read);
  EXPECT_EQ(testing::read_bytes(folder.path() / "a"), testing::read_bytes(folder.path() / "c"));
}

TEST(Trace, EndsInTheLedgersState) {
  const testing::SomeRun run;
  const auto ledger = ledger::read(real_file_system(), run.path() / "ledger.jsonl");
  for (const std::int64_t step : {1, 4}) {  // from nothing, and from a checkpoint
    const Trace found = traced(run.path(), step);
    const ledger::Entry& entry = ledger.entries[static_cast<std::size_t>(step) - 1];
    EXPECT_EQ(found.states_before.back(), entry.before.hex());
    EXPECT_EQ(found.state, entry.state.hex());
    EXPECT_FALSE(not_in_ledger(found, ledger).has_value());
  }
}

TEST(Trace, HasBothPassesOfEveryPhaseAndWhatIsBetweenOps) {
  const testing::SomeRun run;
  std::set<std::string> names;
  for (const TracedOp& op : traced(run.path(), 1).ops) names.insert(op.name());
  for (const char* name :
       {"the step: samples", "objective/discriminator: latents", "generator/hidden1: linear",
        "discriminator/hidden1, backward of linear: linear_weight_grad",
        "generator/hidden1, backward of linear", "objective/generator: sum over lanes",
        "objective/generator: clip", "objective/generator: adamw"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Trace, KeepsTheValuesOfOneOp) {
  const testing::SomeRun run;
  const TraceResult all = trace({.folder = run.path(), .step = Step(1), .values_of = 1});
  EXPECT_FALSE(all.values.empty());
  EXPECT_TRUE(trace({.folder = run.path(), .step = Step(1)}).values.empty());
}

TEST(Trace, RefusesWhatIsNone) {
  const testing::SomeRun run;
  const TemporaryFolder folder;
  const auto file = folder.path() / "a";
  write_trace(file, traced(run.path(), 1));
  const std::string text = testing::read_bytes(file);
  const std::string bad[] = {"",
                             "{}\n",
                             "no JSON\n",
                             text.substr(0, text.size() / 2),
                             text.substr(0, text.rfind('\n', text.size() - 2) + 1),
                             text + text};
  for (const std::string& each : bad) {
    testing::write_bytes(file, each);
    try {
      read_trace(file);
      ADD_FAILURE() << each.substr(0, 60);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kCannotCompare);
      EXPECT_THAT(error.what(), HasSubstr(file.string()));
    }
  }
  EXPECT_THROW(traced(run.path(), 7), Error);
  EXPECT_THROW(traced(run.path(), 0), Error);
}

class Odds : public ::testing::Test {
 protected:
  // An op with inputs and outputs, and one behind it.
  static std::size_t linear() {
    std::size_t i = 0;
    while (honest().ops[i].op != "linear") ++i;
    return i;
  }
  static const Trace& honest() {
    static const testing::SomeRun run;
    static const Trace found = traced(run.path(), 2);
    return found;
  }
};

TEST_F(Odds, AnOutputThatDiffersNamesItsOp) {
  Trace other = honest();
  other.ops[linear()].outputs[0][0] ^= 1;
  other.ops[linear() + 1].inputs[0][0] ^= 1;  // what follows from it
  const auto odd = first_divergence(honest(), other);
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->kind, Divergence::Kind::kOutput);
  EXPECT_EQ(odd->number, linear());
  EXPECT_EQ(odd->a, honest().ops[linear()].name());
}

TEST_F(Odds, AnInputThatNoOpMade) {
  Trace other = honest();
  other.ops[linear()].inputs[0][0] ^= 1;
  other.ops[linear()].outputs[0][0] ^= 1;
  EXPECT_EQ(first_divergence(honest(), other)->kind, Divergence::Kind::kInput);
}

TEST_F(Odds, OtherOpsAndEnds) {
  Trace other = honest();
  other.ops.erase(other.ops.begin() + 3);
  EXPECT_EQ(first_divergence(honest(), other)->kind, Divergence::Kind::kOrder);
  other = honest();
  other.ops.pop_back();
  const auto odd = first_divergence(honest(), other);
  EXPECT_EQ(odd->number, other.ops.size());
  EXPECT_EQ(odd->b, "the end");
}

TEST_F(Odds, StatesThatDifferThoughAllOpsAgree) {
  Trace other = honest();
  other.state[0] ^= 1;
  other.tensors[4].second[0] ^= 1;
  const auto odd = first_divergence(honest(), other);
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->kind, Divergence::Kind::kState);
  EXPECT_EQ(odd->a, honest().tensors[4].first);
}

TEST_F(Odds, StatesOnTheWayTellTheFirstStepThatDiffers) {
  const testing::SomeRun run;
  const Trace mine = traced(run.path(), 3);  // from step 0
  ASSERT_EQ(mine.states_before.size(), 3U);
  EXPECT_FALSE(earlier_divergence(mine, mine).has_value());
  Trace other = mine;
  other.states_before[1][0] ^= 1;
  other.states_before[2][0] ^= 1;
  EXPECT_EQ(earlier_divergence(mine, other), Step(1));
  other.states_before[0][0] ^= 1;
  EXPECT_THROW(earlier_divergence(mine, other), Error);
  // From a later checkpoint: compared from there on.
  Trace later = mine;
  later.started = Step(2);
  later.states_before.erase(later.states_before.begin(), later.states_before.begin() + 2);
  EXPECT_FALSE(earlier_divergence(mine, later).has_value());
  later.states_before[0][0] ^= 1;
  EXPECT_THROW(earlier_divergence(mine, later), Error);
}

TEST_F(Odds, ALedgerThatSaysOtherwiseNamesTheStep) {
  const testing::SomeRun run;
  const auto ledger = ledger::read(real_file_system(), run.path() / "ledger.jsonl");
  const Trace mine = traced(run.path(), 3);
  EXPECT_FALSE(not_in_ledger(mine, ledger).has_value());
  for (const std::size_t line : {0U, 2U}) {
    auto other = ledger;
    other.entries[line].state.bytes[0] ^= std::byte{1};
    EXPECT_EQ(not_in_ledger(mine, other), Step(static_cast<std::int64_t>(line) + 1));
  }
}

TEST_F(Odds, OfOtherStepsOrStatesAreRefused) {
  for (const auto& change : std::vector<std::function<void(Trace&)>>{
           [](Trace& t) { t.step = Step(3); }, [](Trace& t) { t.states_before.back()[0] ^= 1; },
           [](Trace& t) { t.run.recipe.bytes[0] = std::byte{1}; },
           [](Trace& t) { t.run.data.bytes[0] = std::byte{1}; }}) {
    Trace other = honest();
    change(other);
    EXPECT_THROW(first_divergence(honest(), other), Error);
  }
}

}  // namespace
}  // namespace lockstep::audit
