// What a reader wants to know first: how the run ended, whether its evidence holds, what was
// computed again.
#include <algorithm>

#include "lockstep/core/text.h"
#include "report/replays.h"
#include "report/sections.h"

namespace lockstep::report {
namespace {

constexpr std::size_t kMostFindings = 50;

enum class Tone { kFine, kOpen, kWrong };

struct Statement {
  Tone tone;
  std::string head, rest;
  std::vector<std::string> list;
};

// A damaged block's line may name hundreds of tensors; its end says what is wrong.
std::string without_middle(const std::string& line) {
  constexpr std::size_t kHead = 200, kTail = 150;
  if (line.size() <= kHead + kTail) return line;
  return shortened(line, kHead) + " " + line.substr(line.size() - kTail);
}

Html list_of(const std::vector<std::string>& lines) {
  Html items;
  for (std::size_t i = 0; i < std::min(lines.size(), kMostFindings); ++i)
    items += element("li", text(without_middle(lines[i])));
  if (lines.size() > kMostFindings)
    items += element("li", text("and " + std::to_string(lines.size() - kMostFindings) + " more"));
  return element("ul", items);
}

// Without the beginning that names the step.
std::string without_step(const std::string& line, const std::string& step) {
  const std::string beginning = "step " + step + ": ";
  return line.starts_with(beginning) ? line.substr(beginning.size()) : line;
}

// Which network a phase of the recipe trains: what people call it.
std::string network_of(const Facts& facts, const std::string& phase) {
  if (facts.recipe)
    for (const auto& one : recipe::phases(*facts.recipe))
      if (one.name == phase) return std::string(one.role);
  return phase;
}

// So many steps in a row with the same loss to the last bit cannot be chance: each has new samples.
constexpr std::int64_t kStill = 10;

// Of each phase, by the step's number.
std::vector<std::pair<std::string, std::vector<std::pair<std::int64_t, float>>>> losses_of(
    const Facts& facts) {
  std::vector<std::pair<std::string, std::vector<std::pair<std::int64_t, float>>>> phases;
  for (const ledger::Entry& entry : facts.ledger.entries) {
    for (const auto& [name, loss] : entry.losses) {
      auto phase = std::ranges::find(phases, name, [](const auto& one) { return one.first; });
      if (phase == phases.end()) phase = phases.insert(phase, {name, {}});
      phase->second.emplace_back(entry.step.value, loss);
    }
  }
  return phases;
}

// What the ledger's losses show for certain, one line a phase.
std::vector<std::string> odd_losses(const Facts& facts) {
  std::vector<std::string> lines;
  for (const auto& [name, losses] : losses_of(facts)) {
    const float last = losses.back().second;
    std::int64_t infinite = 0, first = 0, still = 0;
    for (const auto& [step, loss] : losses) {
      if (!(loss - loss == 0) && infinite++ == 0) first = step;
      still = loss == last ? still + 1 : 0;
    }
    const std::string of = "the loss of the " + network_of(facts, name) + " ";
    if (infinite > 0)
      lines.push_back(of + "is not finite in " + counted(infinite, "step") + ", first in step " +
                      std::to_string(first));
    else if (still >= kStill)
      lines.push_back(of + "is " + to_text(last) + " in each of the last " +
                      counted(still, "step") + " that train it");
  }
  return lines;
}

// [monitor] says who looks while a run trains.
std::string unwatched(const Facts& facts) {
  const monitor::Options& options = facts.recipe->monitor;
  const bool watched = options.every > 0 || options.loss_limit > 0 || options.warn_spike > 0 ||
                       options.stop_spike > 0 || options.layers_every > 0;
  return watched ? ""
                 : " No monitor watched it ([monitor] in docs/recipes.md): see curves and samples.";
}

Statement outcome(const Facts& facts) {
  const std::string done = std::to_string(steps_of(facts));
  if (facts.verified.chain.empty() || !facts.recipe)
    return {
        Tone::kWrong,
        "Nobody can say how far it came.",
        "The recipe or the ledger does not hold; the ledger is readable up to step " + done + ".",
        {}};
  const std::int64_t all = facts.recipe->run.steps;
  const std::string of = "step " + done + " of " + std::to_string(all);
  const bool stopped = facts.metrics.stopped;
  if (stopped && facts.metrics.stops.back().by == "signal")
    return {Tone::kOpen,
            "Not finished: " + of + ".",
            "A signal stopped it, and all was saved: the same command goes on." + unwatched(facts),
            {}};
  if (stopped) {
    const train::Stop& stop = facts.metrics.stops.back();
    const std::string head = stop.by == "monitor" ? "A monitor stopped it"
                             : stop.code == static_cast<int>(Code::kDiverged) ? "It diverged"
                                                                              : "An error ended it";
    const bool in_the_next =
        stop.reason.starts_with("step " + std::to_string(steps_of(facts) + 1) + ":");
    return {Tone::kWrong,
            head + (in_the_next ? " after " : " at ") + of + ".",
            "",
            {without_step(stop.reason, done)}};
  }
  if (steps_of(facts) < all)
    return {Tone::kOpen,
            "Not finished: " + of + ".",
            "It was interrupted, or it is still training." + unwatched(facts),
            {}};
  return {Tone::kFine,
          "Finished.",
          "All " + counted(steps_of(facts), "step is", "steps are") + " done." + unwatched(facts),
          {}};
}

std::string checked(const Facts& facts) {
  const audit::VerifyResult& result = facts.verified;
  return counted(result.steps, "step", "steps") + ", " +
         counted(result.checkpoints, "checkpoint", "checkpoints") + " and " +
         counted(result.pictures, "picture", "pictures");
}

std::string of_signatures(const Facts& facts) {
  if (facts.verified.signed_to) {
    const std::int64_t later = facts.verified.steps - facts.verified.signed_to->value;
    return "The given key signed it up to step " + std::to_string(facts.verified.signed_to->value) +
           (later > 0 ? "; " + counted(later, "later step is", "later steps are") + " not signed."
                      : ".");
  }
  if (!facts.key.empty()) return "Nobody can say what the given key vouches for.";
  const bool any = std::ranges::any_of(facts.checkpoints,
                                       [](const auto& one) { return !one.second.key.empty(); });
  return any ? "It is signed; without --key nobody checked by whom."
             : "Nobody signed it: a forger who rewrites all of it is not caught.";
}

Statement evidence_of(const Facts& facts) {
  const auto& findings = facts.verified.findings;
  if (findings.empty())
    return {Tone::kFine,
            "The evidence holds.",
            "lockstep verify looked at " + checked(facts) +
                ": nothing is damaged, nothing disagrees. " + of_signatures(facts),
            {}};
  const bool damaged = std::ranges::any_of(
      findings, [](const audit::Finding& finding) { return finding.code != Code::kDiffer; });
  std::vector<std::string> lines;
  for (const audit::Finding& finding : findings)
    lines.push_back(std::string(kind_of(finding)) + ": " + finding.what);
  const bool only_unsigned = std::ranges::all_of(
      findings, [](const audit::Finding& finding) { return finding.not_signed; });
  return {Tone::kWrong,
          only_unsigned ? "The given key did not sign all of it."
          : damaged     ? "The evidence does not hold."
                        : "The evidence disagrees.",
          "lockstep verify found:", lines};
}

Statement replays_of(const Facts& facts) {
  if (!std::ranges::all_of(facts.replays, agrees))
    return {
        Tone::kWrong, "A replay disagrees.", "Its bits differ from the ledger's: see Replays.", {}};
  const std::string covered = coverage(facts);
  if (covered.empty())
    return {Tone::kOpen, "Not replayed yet.", "Nothing shows that the numbers are right.", {}};
  const std::string where =
      " Replays says on which machines: one that trained it may repeat its own fault.";
  return covered.starts_with("All ")
             ? Statement{Tone::kFine, "Replayed.", covered + where, {}}
             : Statement{Tone::kOpen, "Replayed in part.", covered + where, {}};
}

}  // namespace

Html verdict(const Facts& facts) {
  std::vector<Statement> all = {outcome(facts), evidence_of(facts), replays_of(facts)};
  if (const auto losses = odd_losses(facts); !losses.empty())
    all.insert(all.begin(),
               {Tone::kWrong, "The losses are not those of a run that learns.", "", losses});
  Html list;
  bool wrong = false;
  for (const Statement& one : all) {
    const char* kind = one.tone == Tone::kFine   ? "fine"
                       : one.tone == Tone::kOpen ? "open"
                                                 : "wrong";
    list +=
        element("p", {{"class", kind}},
                element("strong", text(one.head)) + text(one.rest.empty() ? "" : " " + one.rest));
    if (!one.list.empty()) list += list_of(one.list);
    wrong |= one.tone == Tone::kWrong;
  }
  return element("div", {{"class", wrong ? "verdict wrong" : "verdict"}}, list) + "\n"_html;
}

}  // namespace lockstep::report
