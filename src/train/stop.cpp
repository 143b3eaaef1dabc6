#include "lockstep/train/stop.h"

#include "lockstep/core/foreign.h"

namespace lockstep::train {

Json to_json(const Stop& stop) {
  return {{"by", stop.by}, {"step", stop.step.value}, {"code", stop.code}, {"reason", stop.reason}};
}

std::optional<Stop> stop_in(const Json& line) {
  const Json* const stop = line.is_object() ? line.find("stop") : nullptr;
  if (!stop || !stop->is_object()) return std::nullopt;
  const Json *by = stop->find("by"), *step = stop->find("step"), *code = stop->find("code"),
             *reason = stop->find("reason");
  if (!by || !by->is_string() || !step || !step->is_integer() || !code || !code->is_integer() ||
      !reason || !reason->is_string())
    return std::nullopt;
  return Stop{by->get<std::string>(), Step(step->get<std::int64_t>()),
              static_cast<int>(code->get<std::int64_t>()), reason->get<std::string>()};
}

std::optional<Stop> last_stop(FileSystem& fs, const RunFolder& folder) {
  if (!fs.exists(folder.metrics())) return std::nullopt;
  try {
    std::string text = read_lines(fs, folder.metrics());
    if (text.ends_with('\n')) text.pop_back();
    const std::size_t end = text.rfind('\n');
    return stop_in(
        parse_json(end == std::string::npos ? text : text.substr(end + 1)).value_or(Json()));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace lockstep::train
