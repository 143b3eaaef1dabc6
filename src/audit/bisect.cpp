#include "lockstep/audit/bisect.h"

#include <algorithm>

#include "lockstep/core/error.h"

namespace lockstep::audit {
namespace {

void require_same_run(const Trace& a, const Trace& b) {
  const auto refuse = [](const std::string& what, const std::string& hint) {
    throw Error(Code::kCannotCompare, "the two traces are of " + what, hint);
  };
  if (a.run.recipe != b.run.recipe)
    refuse("different recipes", "`lockstep diff` shows which keys differ");
  if (a.run.data != b.run.data) refuse("different data", {});
  if (a.step != b.step)
    refuse(
        "different steps, " + std::to_string(a.step.value) + " and " + std::to_string(b.step.value),
        "give both the same --step");
}

// The root after `step`, which is on the trace's way.
const std::string& root_after(const Trace& trace, Step step) {
  if (step == trace.step) return trace.state;
  return trace.states_before.at(static_cast<std::size_t>(step.value - trace.started.value));
}

[[noreturn]] void different_states(Step step) {
  throw Error(Code::kCannotCompare,
              "the two traces are of different states after step " + std::to_string(step.value) +
                  " already",
              "an earlier step differs: `lockstep diff` names it");
}

}  // namespace

std::optional<Step> earlier_divergence(const Trace& a, const Trace& b) {
  require_same_run(a, b);
  const Step first = std::max(a.started, b.started);
  for (Step step = first; step < a.step; ++step.value) {
    if (root_after(a, step) == root_after(b, step)) continue;
    if (step == first) different_states(step);
    return step;
  }
  return std::nullopt;
}

std::optional<Step> not_in_ledger(const Trace& trace, const ledger::Ledger& ledger) {
  for (Step step(trace.started.value + 1); step <= trace.step; ++step.value) {
    const auto line = static_cast<std::size_t>(step.value - 1);
    if (line >= ledger.entries.size()) break;
    if (ledger.entries[line].state.hex() != root_after(trace, step)) return step;
  }
  return std::nullopt;
}

std::optional<Divergence> first_divergence(const Trace& a, const Trace& b) {
  if (const auto parted = earlier_divergence(a, b)) different_states(*parted);
  const std::size_t count = std::max(a.ops.size(), b.ops.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto name = [&](const Trace& trace) {
      return i < trace.ops.size() ? trace.ops[i].name() : std::string("the end");
    };
    Divergence odd{Divergence::Kind::kOrder, i, name(a), name(b)};
    if (odd.a != odd.b) return odd;
    const TracedOp &mine = a.ops[i], &theirs = b.ops[i];
    odd.kind = Divergence::Kind::kInput;
    if (mine.inputs != theirs.inputs) return odd;
    odd.kind = Divergence::Kind::kOutput;
    if (mine.outputs != theirs.outputs) return odd;
  }
  if (a.state == b.state) return std::nullopt;
  Divergence odd{Divergence::Kind::kState, count, "the cursor", "the cursor"};
  const auto [mine, theirs] = std::ranges::mismatch(a.tensors, b.tensors);
  if (mine != a.tensors.end()) odd.a = mine->first;
  if (theirs != b.tensors.end()) odd.b = theirs->first;
  return odd;
}

}  // namespace lockstep::audit
