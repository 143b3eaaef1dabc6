#include "replay_report.h"

#include <sstream>

#include "lockstep/core/clock.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/log.h"
#include "lockstep/core/text.h"
#include "lockstep/fingerprint/fingerprint.h"
#include "output.h"
#include "values.h"

namespace lockstep::cli {
namespace {

Json machine(int ranks) {
  Json facts = {{"ranks", ranks}};
  for (const auto& [name, value] : fingerprint::take(fingerprint::Kernels::kNone))
    if (name == "host" || name == "system" || name == "cpu" || name == "isa" || name == "device")
      facts[name] = value;
  return facts;
}

Json place_of(const audit::ReplayResult::Place& place) {
  Json out = {{"checkpoint", place.checkpoint.value},
              {"tensors", place.tensors},
              {"tensor", place.first.tensor},
              {"what", place.first.what}};
  if (place.first.values.different > 0) out.update(values_json(place.first.values));
  return out;
}

std::string number(const Json& value) {
  return std::to_string(value.get<std::int64_t>());
}
std::string text(const Json& value) {
  return value.get<std::string>();
}

std::string place_text(const Json& place) {
  std::ostringstream out;
  out << "checkpoint of step " << number(place.at("checkpoint")) << ": "
      << counted(place.at("tensors").get<std::int64_t>(), "tensor differs", "tensors differ")
      << ", first " << text(place.at("tensor"));
  if (place.contains("first"))
    out << ", element " << number(place.at("first")) << ": " << text(place.at("a")) << " here, "
        << text(place.at("b")) << " there; " << number(place.at("different")) << " of its "
        << number(place.at("elements")) << " elements, at most " << number(place.at("largest_ulp"))
        << " ulp";
  else
    out << ": " << text(place.at("what"));
  return out.str();
}

}  // namespace

Json replay_report(const audit::ReplayOptions& options, int ranks,
                   const audit::ReplayResult& result) {
  Json out = {{"agrees", !result.differs}, {"windows", Json::array()}};
  for (const auto& done : result.windows)
    out["windows"].push_back(
        {{"started", done.started.value}, {"from", done.from.value}, {"to", done.to.value}});
  if (options.spots > 0) out["seed"] = options.seed;
  if (!result.start.empty()) out["start"] = result.start;
  if (!result.cut.empty()) out["cut"] = result.cut;
  if (!result.unfinished.empty()) out["unfinished"] = result.unfinished;
  out["compared"] = result.compared;
  out["checkpoints"] = result.checkpoints;
  out["steps"] = result.steps;
  out["chain"] = result.chain;
  if (result.differs) {
    out["first_difference"] = result.differs->value;
    out["what"] = result.what;
  }
  if (result.place) out["place"] = place_of(*result.place);
  out["machine"] = machine(ranks);
  return out;
}

namespace {

// Whether it says of exactly these windows that they were recomputed; of a replay that disagrees,
// of those up to the difference.
bool answers(const Json& report, const std::vector<audit::Window>& windows, std::int64_t steps) {
  if (report.at("steps").get<std::int64_t>() < steps) return false;  // it may train meanwhile
  const bool agrees = report.at("agrees").get<bool>();
  const auto& reported = report.at("windows").elements();
  if (reported.empty() || reported.size() > windows.size()) return false;
  if (agrees && reported.size() != windows.size()) return false;
  std::int64_t least = 0, most = 0;
  for (std::size_t i = 0; i < reported.size(); ++i) {
    const auto started = reported[i].at("started").get<std::int64_t>(),
               from = reported[i].at("from").get<std::int64_t>(),
               to = reported[i].at("to").get<std::int64_t>();
    const bool whole = agrees || i + 1 < reported.size();
    if (from != windows[i].from.value || started < 0 || started >= from || to > steps) return false;
    if (whole ? to != windows[i].to->value : to <= started) return false;
    least += whole ? to - from + 1 : 0;
    most += to - started;
  }
  const auto compared = report.at("compared").get<std::int64_t>();
  return compared >= std::min(least, steps) && compared <= std::min(most, steps);
}

}  // namespace

Json parse_replay_report(const std::string& text, Code code,
                         const std::vector<audit::Window>& windows, std::int64_t steps) {
  try {
    Json report = parse_json(text).value_or(Json());
    static_cast<void>(replay_text(report));
    if (report.at("agrees").get<bool>() == (code == Code::kOk) && answers(report, windows, steps))
      return report;
  } catch (const JsonError&) {  // one answer to all
  }
  throw Error(Code::kEnvironment, "the container's lockstep did not report the replay asked for",
              "give an image that holds this version");
}

Json parse_error_report(const std::string& text, Code code) {
  const auto report = parse_json(text);
  if (report && report->contains("error")) return *report;
  return error_json(code, "the container's lockstep ended with an error", "see standard error");
}

std::vector<std::string> replay_text(const Json& report) {
  std::vector<std::string> lines, notes;
  if (report.contains("start")) notes.push_back("note: " + text(report.at("start")));
  if (report.contains("unfinished")) notes.push_back("note: " + text(report.at("unfinished")));
  if (report.contains("cut"))
    notes.push_back("note: " + text(report.at("cut")) + ": what only some see is not replayed");
  if (!report.at("agrees").get<bool>()) {
    const std::string step = "FAIL: step " + number(report.at("first_difference"));
    lines.push_back(text(report.at("what")) == audit::kCheckpoint
                        ? step +
                              ": every digest is the ledger's, and its checkpoint holds another "
                              "state than the one recomputed"
                        : step + ": its " + text(report.at("what")) +
                              " is not what the ledger says");
    if (report.contains("place")) lines.push_back(place_text(report.at("place")));
    if (report.contains("cut")) lines.push_back(notes.back());
    return lines;
  }
  for (const Json& window : report.at("windows").elements())
    lines.push_back("PASS: steps " + number(window.at("from")) + " to " + number(window.at("to")) +
                    " recomputed from step " + number(window.at("started")) +
                    ": every digest is the ledger's");
  lines.insert(lines.end(), notes.begin(), notes.end());
  const auto compared = report.at("compared").get<std::int64_t>();
  const auto steps = report.at("steps").get<std::int64_t>();
  const bool drawn = report.contains("seed");
  if (compared == steps && !drawn) return lines;
  const double share = 100.0 * static_cast<double>(compared) / static_cast<double>(steps);
  lines.push_back(std::to_string(compared) + " of " + counted(steps, "step") + " (" +
                  fixed(share, 1) + " %) were recomputed and agree");
  if (drawn)
    lines.back() += ", the last ones among them; drawn with --seed " + number(report.at("seed"));
  return lines;
}

void note_replay(const std::filesystem::path& folder, const Json& report) {
  Json line = {{"time", utc_timestamp()}};
  line.update(report);
  try {
    const auto file = open_lines(real_file_system(), folder / "replays.jsonl");
    file->append(as_bytes(json_line(line)));
  } catch (const Error& error) {
    log::info("not noted in the run's folder: " + std::string(error.what()));
  }
}

}  // namespace lockstep::cli
