#include <cstring>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "child.h"
#include "command.h"
#include "container.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/log.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/train/bisect.h"
#include "lockstep/train/diff.h"
#include "values.h"

namespace lockstep::cli {
namespace {

namespace stdfs = std::filesystem;
using Json = nlohmann::ordered_json;

// A run, and what its step is computed with; or a trace that was made elsewhere.
struct Side {
  std::string source, program;
  std::vector<std::string> settings;
  Container container;

  bool is_run() const { return stdfs::is_directory(source); }
};

struct Options {
  Side a, b;
  std::int64_t step = 0;
  std::string data;
  int threads = 0;
  bool json = false;
};

[[noreturn]] void cannot_compare(const std::string& what, const std::string& hint = {}) {
  throw Error(Code::kCannotCompare, what, hint);
}

ledger::Ledger ledger_of(const Side& side) {
  return ledger::read(real_file_system(), stdfs::path(side.source) / "ledger.jsonl",
                      ledger::TornTail::kDrop);
}

// The step to look at: nothing if the ledgers agree and nobody asked for one.
std::optional<std::int64_t> step_of(const Options& options) {
  for (const Side* side : {&options.a, &options.b})
    if (!stdfs::exists(side->source)) cannot_compare("there is no " + side->source);
  if (options.step > 0) return options.step;
  for (const Side* side : {&options.a, &options.b})
    if (!side->is_run()) return train::read_trace(side->source).step.value;
  const auto difference = ledger::first_difference(ledger_of(options.a), ledger_of(options.b));
  if (!difference) return std::nullopt;
  if (difference->step.value == 0)
    cannot_compare("the runs are of different " + difference->what,
                   "`lockstep diff` shows what differs");
  return difference->step.value;
}

// Runs `lockstep trace` for this side; returns the trace's file.
std::string traced(const Side& side, const Options& options, std::int64_t step,
                   std::optional<std::size_t> values_of, const TemporaryFolder& folder,
                   const std::string& name) {
  const std::string run = stdfs::canonical(side.source).string(), out = folder.file(name);
  std::vector<std::string> arguments = {"trace",     run,
                                        out,         "--quiet",
                                        "--step",    std::to_string(step),
                                        "--threads", std::to_string(options.threads)};
  const auto add = [&](const std::string& option, const std::string& value) {
    arguments.push_back(option);
    arguments.push_back(value);
  };
  if (values_of) add("--values-of", std::to_string(*values_of));
  int code = 0;
  if (side.container.image.empty()) {
    if (!options.data.empty()) add("--data", options.data);
    arguments.insert(arguments.begin(), side.program.empty() ? own_program() : side.program);
    code = run_child(arguments, side.settings, "/dev/null");
  } else {
    Visible there = visible(side.source, options.data);
    there.mounts.push_back({folder.path(), /*writable=*/true});
    arguments.insert(arguments.end(), there.arguments.begin(), there.arguments.end());
    code = run_contained(side.container, there.mounts, side.settings, arguments, "/dev/null");
  }
  if (code != 0)
    cannot_compare("step " + std::to_string(step) + " of " + side.source +
                       " could not be computed (exit code " + std::to_string(code) + ", see above)",
                   "if that lockstep has no `trace`, it is too old");
  return out;
}

std::vector<float> read_values(const std::string& path) {
  const Bytes bytes = read_file(real_file_system(), path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// The odd op's outputs, where both sides can be computed again.
std::optional<state::ValueDifference> values_of(const Options& options, std::int64_t step,
                                                std::size_t number, const TemporaryFolder& folder) {
  if (!options.a.is_run() || !options.b.is_run()) return std::nullopt;
  const auto a = read_values(traced(options.a, options, step, number, folder, "a") + ".values");
  const auto b = read_values(traced(options.b, options, step, number, folder, "b") + ".values");
  if (a.size() != b.size()) return std::nullopt;
  return state::compare(a, b);
}

std::vector<std::string> environment_differences(const train::Trace& a, const train::Trace& b) {
  std::vector<std::string> lines;
  for (const auto& one : train::differences(a.environment, b.environment))
    lines.push_back(one.name + ": " + brief(one.a) + " | " + brief(one.b));
  return lines;
}

std::string sentence(const train::Odd& odd) {
  switch (odd.kind) {
    case train::Odd::Kind::kOutput:
      return odd.a + " is the first operation that differs: its inputs agree, its output does not";
    case train::Odd::Kind::kInput:
      return odd.a +
             " gets other inputs, though every operation before it agrees: what made them "
             "is not traced";
    case train::Odd::Kind::kOrder:
      return "other operations: " + odd.a + " in the first, " + odd.b + " in the second";
    case train::Odd::Kind::kState:
      return "every operation agrees, but the new states do not, first in " + odd.a +
             ": what changed it is not traced";
  }
  return {};
}

Code run(const Options& options) {
  log::set_quiet(true);
  const auto step = step_of(options);
  if (!step) {
    std::cout << (options.json ? "{\"same\":true}" : "the ledgers agree; --step asks for a step")
              << "\n";
    return Code::kOk;
  }
  const TemporaryFolder folder;
  const auto trace_of = [&](const Side& side, const std::string& name) {
    return train::read_trace(
        side.is_run() ? traced(side, options, *step, std::nullopt, folder, name) : side.source);
  };
  const train::Trace a = trace_of(options.a, "a"), b = trace_of(options.b, "b");
  const auto odd = train::first_odd(a, b);
  std::optional<state::ValueDifference> values;
  if (odd && odd->kind == train::Odd::Kind::kOutput)
    values = values_of(options, *step, odd->number, folder);
  const std::vector<std::string> environment = environment_differences(a, b);

  if (options.json) {
    Json out = {{"same", !odd}, {"step", *step}, {"operations", a.ops.size()}};
    if (odd)
      out["odd"] = {
          {"number", odd->number}, {"a", odd->a}, {"b", odd->b}, {"what", sentence(*odd)}};
    if (values) out["values"] = values_json(*values);
    out["environment"] = environment;
    std::cout << out.dump() << "\n";
  } else {
    for (const std::string& line : environment) std::cout << "environment " << line << "\n";
    if (!odd)
      std::cout << "step " << *step << ": all " << a.ops.size() << " operations agree\n";
    else
      std::cout << "step " << *step << ", operation " << odd->number << " of " << a.ops.size()
                << ":\n"
                << sentence(*odd) << "\n";
    if (values)
      std::cout << values->different << " of " << values->elements << " elements differ, first "
                << values->first << "; ulps:\n"
                << histogram(*values);
  }
  return odd ? Code::kDiffer : Code::kOk;
}

void add_side(CLI::App& app, Side& side, const std::string& letter) {
  app.add_option("--env-" + letter, side.settings, "NAME=value for the " + letter + " side; again")
      ->allow_extra_args(false);
  app.add_option("--program-" + letter, side.program, "another build of lockstep for it");
  app.add_option("--container-" + letter, side.container.image, "an image for it");
}

}  // namespace

Run add_bisect(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("a", options->a.source, "run folder, or a file that `lockstep trace` made")
      ->required();
  app.add_option("b", options->b.source,
                 "another one of the same recipe, or the same with other "
                 "settings")
      ->required();
  app.add_option("--step", options->step, "step to compare, 0: the first that differs");
  add_side(app, options->a, "a");
  add_side(app, options->b, "b");
  app.add_option_function<std::string>(
      "--engine",
      [options](const std::string& engine) {
        options->a.container.engine = options->b.container.engine = engine;
      },
      "of both containers: buildah, podman, docker or apptainer, with options of its own");
  app.add_option("--data", options->data, "where the data set lies, if not where the recipe says");
  add_threads(app, options->threads);
  app.add_flag("--json", options->json, "report as JSON");
  app.footer(
      "Example: lockstep bisect runs/a runs/b --env-b ONEDNN_MAX_CPU_ISA=SSE41\n"
      "Computes the step again on both sides and compares every operation. Exit codes: 0 same, 1 "
      "found, 125 cannot compare.");
  return [options]() -> Code {
    try {
      return run(*options);
    } catch (const Error& error) {
      throw Error(Code::kCannotCompare, error.message(), error.hint());
    }
  };
}

}  // namespace lockstep::cli
