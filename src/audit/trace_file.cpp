#include <span>
#include <sstream>
#include <string_view>

#include "lockstep/audit/trace.h"
#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/foreign.h"
#include "lockstep/core/json.h"

namespace lockstep::audit {
namespace {

constexpr int kVersion = 2;

std::vector<std::pair<std::string, std::string>> pairs_of(const Json& object) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [name, value] : object.members())
    pairs.emplace_back(name, value.get<std::string>());
  return pairs;
}

Json header_of(const Trace& trace) {
  return {{"lockstep", "trace"},
          {"version", kVersion},
          {"recipe", trace.run.recipe.hex()},
          {"data", trace.run.data.hex()},
          {"semantics", trace.run.semantics},
          {"numerics", trace.numerics},
          {"step", trace.step.value},
          {"started", trace.started.value},
          {"states_before", trace.states_before},
          {"environment", trace.environment}};
}

Json line_of(const TracedOp& op) {
  Json line = {{"pass", op.pass}, {"module", op.module}, {"op", op.op}};
  if (!op.of.empty()) line["of"] = op.of;
  line["in"] = op.inputs;
  line["out"] = op.outputs;
  return line;
}

// Refuses a number with a fraction.
Step step_of(const Json& line, const char* name) {
  const Json& value = line.at(name);
  if (!value.is_integer())
    throw Error(Code::kCannotCompare, std::string(name) + " is not a whole number");
  return Step(value.get<std::int64_t>());
}

void read_header(const Json& line, Trace& trace) {
  if (line.at("lockstep") != "trace" || line.at("version") != kVersion)
    throw Error(Code::kCannotCompare, "it is not a trace of version " + std::to_string(kVersion));
  trace.run.recipe = hash::Digest::from_hex(line.at("recipe").get<std::string>());
  trace.run.data = hash::Digest::from_hex(line.at("data").get<std::string>());
  trace.run.semantics = line.at("semantics").get<std::int64_t>();
  trace.numerics = line.at("numerics").get<std::string>();
  trace.step = step_of(line, "step");
  trace.started = step_of(line, "started");
  trace.states_before = line.at("states_before").get<std::vector<std::string>>();
  if (trace.started.value < 0 || trace.step <= trace.started ||
      trace.states_before.size() !=
          static_cast<std::size_t>(trace.step.value - trace.started.value))
    throw Error(Code::kCannotCompare, "its steps and states do not fit each other");
  trace.environment = pairs_of(line.at("environment"));
}

TracedOp op_of(const Json& line) {
  const Json* of = line.find("of");
  return {.pass = line.at("pass").get<std::string>(),
          .module = line.at("module").get<std::string>(),
          .of = of ? of->get<std::string>() : "",
          .op = line.at("op").get<std::string>(),
          .inputs = line.at("in").get<std::vector<std::string>>(),
          .outputs = line.at("out").get<std::vector<std::string>>()};
}

}  // namespace

void write_trace(const std::filesystem::path& path, const Trace& trace) {
  std::string text = json_line(header_of(trace));
  for (const TracedOp& op : trace.ops) text += json_line(line_of(op));
  text += json_line({{"state", trace.state}, {"tensors", trace.tensors}});
  publish(real_file_system(), path, as_bytes(text));
}

bool is_trace(const std::filesystem::path& path) {
  constexpr std::string_view kBegin = R"({"lockstep":"trace")";
  std::string begin(kBegin.size(), ' ');
  const auto file = real_file_system().open_read(path);
  file->read_at(0, std::as_writable_bytes(std::span(begin)));
  return begin == kBegin;
}

Trace read_trace(const std::filesystem::path& path) {
  std::istringstream lines(read_lines(real_file_system(), path, kMostJson, Code::kCannotCompare));
  Trace trace;
  std::string text;
  int number = 0;
  try {
    for (bool ended = false; std::getline(lines, text);) {
      ++number;
      if (ended) throw Error(Code::kCannotCompare, "there is more after its end");
      const Json line = parse_json(text).value_or(Json());
      if (number == 1) {
        read_header(line, trace);
      } else if (line.contains("state")) {
        trace.state = line.at("state").get<std::string>();
        trace.tensors = pairs_of(line.at("tensors"));
        ended = true;
      } else {
        trace.ops.push_back(op_of(line));
      }
    }
    if (trace.state.empty()) throw Error(Code::kCannotCompare, "its end is missing");
  } catch (const JsonError&) {
    throw Error(Code::kCannotCompare,
                path.string() + ":" + std::to_string(number) + ": not a line of a trace",
                "give a file that `lockstep trace` made");
  } catch (const Error& error) {
    throw Error(Code::kCannotCompare,
                path.string() + ":" + std::to_string(number) + ": " + error.message(),
                "give a file that `lockstep trace` made");
  }
  return trace;
}

}  // namespace lockstep::audit
