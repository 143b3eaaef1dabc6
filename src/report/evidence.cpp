// What vouches for the run: checkpoints, statements, witnesses; and where it was computed.
#include <algorithm>

#include "lockstep/checkpoint/checkpoint.h"
#include "lockstep/core/text.h"
#include "lockstep/fingerprint/kernels.h"
#include "lockstep/train/witness_lanes.h"
#include "report/draw.h"
#include "report/replays.h"
#include "report/sections.h"

namespace lockstep::report {
namespace {

constexpr std::size_t kMostTracks = 12;

Track track_of(const std::string& name, const std::vector<Window>& windows, bool wrong) {
  Track track{.name = name, .bars = {}, .ticks = {}, .wrong = wrong, .words = {}};
  for (const Window& window : windows)
    track.bars.emplace_back(static_cast<double>(window.from - 1), static_cast<double>(window.to));
  track.words = name + ": steps " + in_words(windows);
  return track;
}

template <class Steps>
Track ticks_of(const std::string& name, const Steps& steps) {
  Track track{.name = name, .bars = {}, .ticks = {}, .words = name};
  for (const std::int64_t step : steps) track.ticks.push_back(static_cast<double>(step));
  return track;
}

template <class Map, class Use>
std::vector<std::int64_t> steps_in(const Map& map, Use&& use) {
  std::vector<std::int64_t> steps;
  for (const auto& [step, value] : map)
    if (use(value)) steps.push_back(step.value);
  return steps;
}

Html timeline(const Facts& facts) {
  std::vector<Track> tracks;
  for (const auto& [number, attempt] : facts.attempts)
    if (attempt.steps > 0)
      tracks.push_back(
          track_of("attempt " + std::to_string(number), {{attempt.first, attempt.last}}, false));
  if (tracks.size() > kMostTracks)
    tracks.erase(tracks.begin(), tracks.end() - static_cast<std::ptrdiff_t>(kMostTracks));
  std::vector<Track> replays;
  for (const Json& replay : facts.replays)
    replays.push_back(track_of(agrees(replay) ? "replay" : "replay, differs",
                               windows_of(facts, replay), !agrees(replay)));
  const auto shown = std::min(replays.size(), kMostTracks);
  tracks.insert(tracks.end(), replays.end() - static_cast<std::ptrdiff_t>(shown), replays.end());
  std::vector<std::int64_t> commits;
  for (const ledger::Entry& entry : facts.ledger.entries)
    if (entry.commit) commits.push_back(entry.step.value);
  tracks.push_back(ticks_of("commits", commits));
  tracks.push_back(ticks_of("checkpoints", steps_in(facts.checkpoints, [](const Checkpoint& one) {
                              return one.bytes.has_value();
                            })));
  tracks.push_back(ticks_of("statements", steps_in(facts.checkpoints, [](const Checkpoint& one) {
                              return !one.key.empty();
                            })));
  tracks.push_back(
      ticks_of("pictures", steps_in(facts.pictures, [](const auto&) { return true; })));
  return draw(tracks, last_step(facts));
}

std::string of_witnesses(const Facts& facts) {
  if (!facts.recipe)
    return "Without a recipe that holds, nobody can say how often witnesses computed a lane again.";
  std::int64_t lanes = 0, phases = 0;
  for (const ledger::Entry& entry : facts.ledger.entries) {
    const auto drawn = train::drawn_lanes(*facts.recipe, Step(entry.step.value - 1)).size();
    lanes += static_cast<std::int64_t>(drawn);
    phases += static_cast<std::int64_t>(drawn * entry.losses.size());
  }
  const std::int64_t all = steps_of(facts) * facts.recipe->batch.lanes;
  return "Witnesses computed " + std::to_string(lanes) + " of " + std::to_string(all) +
         " lanes a second time (evidence.witness_rate " +
         to_text(facts.recipe->evidence.witness_rate) +
         "): " + counted(phases, "computation", "computations") +
         ", one for each phase. A run goes on only if they agree.";
}

Html of_checkpoints(const Facts& facts) {
  if (facts.checkpoints.empty()) return paragraph("There are no checkpoints.");
  std::vector<Row> rows;
  const std::string holds = facts.verified.chain.empty() ? "holds by itself" : "holds";
  for (const auto& [step, one] : facts.checkpoints) {
    const std::string name = checkpoint::file_name(step);
    const bool wrong =
        !one.statement_problem.empty() || !one.root_problem.empty() ||
        std::ranges::any_of(facts.verified.findings, [&](const audit::Finding& finding) {
          return finding.what.find(name) != std::string::npos;
        });
    Html statement = text(one.key.empty() && one.statement_problem.empty() ? "nobody" : "");
    if (!one.key.empty())
      statement = facts.key == one.key ? text("the given key") : code(one.key.substr(0, 12));
    if (!one.statement_problem.empty())
      statement += text((one.key.empty() ? "" : ": ") + shortened(one.statement_problem, 200));
    rows.push_back(
        {{text(std::to_string(step.value)),
          text(one.bytes ? human_bytes(static_cast<double>(*one.bytes)) : "gone"),
          one.root_problem.empty() ? code(one.root) : text(shortened(one.root_problem, 200)),
          statement, text(wrong ? "does not hold" : holds)},
         wrong});
  }
  return table({"Step", "Size", "Root of the file’s SHA-256 tree", "Signed by", "Verify"}, rows);
}

std::string some_of(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 8); ++i)
    list += (i == 0 ? "" : "; ") + names[i];
  return names.size() > 8 ? list + "; and " + std::to_string(names.size() - 8) + " more" : list;
}

Row difference(const fingerprint::Finding& finding) {
  Html values;
  for (const fingerprint::Group& group : finding.groups)
    values += element("li", text(group.value.empty() ? "not set" : shortened(group.value, 300)) +
                                element("small", text(" " + some_of(group.nodes))));
  const auto matters = finding.matters;
  return {{text(shortened(finding.fact, 100)), element("ul", values),
           text(matters == fingerprint::Matters::kNobody   ? "no"
                : matters == fingerprint::Matters::kNative ? "in native numerics"
                                                           : "yes")},
          matters == fingerprint::Matters::kBoth};
}

// How many kernels of a kind were tried on the first machine, and whether all machines agree.
Html of_kernels(const Facts& facts, const fingerprint::Comparison& comparison,
                const std::string& kind, const std::string& promise) {
  const auto& first = facts.environments.front().facts;
  const auto tried = std::ranges::count_if(
      first, [&](const auto& fact) { return fact.first.starts_with(kind + "."); });
  if (tried == 0) return {};
  std::string agreement = "The self-test of " +
                          counted(static_cast<std::int64_t>(tried), "kernel", "kernels") + " (" +
                          kind + ") gave " + promise + ".";
  std::vector<std::string> wrong;
  for (const auto& finding : comparison.findings)
    if (finding.kernel && finding.fact.starts_with(kind + ".") && !finding.sentence.empty())
      wrong.push_back(finding.sentence);
  if (wrong.empty()) return paragraph(agreement);
  Html items;
  for (const std::string& sentence : wrong) items += element("li", text(shortened(sentence, 600)));
  return element("ul", {{"class", "wrong"}}, items);
}

Html common(const Facts& facts, const fingerprint::Comparison& comparison) {
  std::vector<Row> rows;
  for (const auto& [name, value] : facts.environments.front().facts) {
    if (name.starts_with("portable.") || name.starts_with("native.")) continue;
    const bool differs = std::ranges::any_of(
        comparison.findings, [&](const auto& finding) { return finding.fact == name; });
    if (!differs) rows.push_back({{text(shortened(name, 100)), text(shortened(value, 400))}});
  }
  return table({"Fact", facts.environments.size() == 1 ? "Value" : "The same in all"}, rows);
}

}  // namespace

Html evidence(const Facts& facts) {
  Html out = timeline(facts) + paragraph(of_witnesses(facts));
  out += element("h3", text("Checkpoints")) + of_checkpoints(facts);
  out += element("h3", text("Replays")) + of_replays(facts);
  if (facts.notes.empty()) return out;
  Html notes;
  for (std::size_t i = 0; i < std::min<std::size_t>(facts.notes.size(), 50); ++i)
    notes += element("li", text(shortened(facts.notes[i], 400)));
  return out + element("h3", text("Problems in files that are no evidence")) + element("ul", notes);
}

Html environments(const Facts& facts) {
  if (facts.environments.empty()) return paragraph("There is no fingerprint in environment/.");
  const fingerprint::Comparison comparison = fingerprint::compare(facts.environments);
  Html out = paragraph(
      counted(static_cast<std::int64_t>(facts.environments.size()), "fingerprint", "fingerprints") +
      ", one for each rank and attempt. They are no evidence.");
  out += of_kernels(facts, comparison, "portable", "the bits that every machine must give");
  out += of_kernels(facts, comparison, "native", "the same bits on all of them");
  std::vector<Row> rows;
  for (const auto& finding : comparison.findings)
    if (!finding.kernel) rows.push_back(difference(finding));
  if (!rows.empty())
    out += element("h3", text("What differs")) +
           table({"Fact", "Values, and where", "Can change bits"}, rows);
  return out + element("h3", text("What they are")) + common(facts, comparison);
}

}  // namespace lockstep::report
