#include <filesystem>

#include "command.h"
#include "lockstep/audit/bisect.h"
#include "lockstep/audit/diff.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/log.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/train/run_folder.h"
#include "lockstep/train/signals.h"
#include "output.h"
#include "side.h"
#include "values.h"

namespace lockstep::cli {
namespace {

namespace stdfs = std::filesystem;

struct Options {
  Side a, b;
  Computing computing;
  std::optional<std::string> engine;
  std::int64_t step = 0;
  bool json = false;
};

struct BisectResult {
  audit::Trace a, b;
  bool from_ledgers = false;  // the step was not asked for: the ledgers differ there
  std::optional<audit::Divergence> odd;
  std::optional<state::ValueDifference> values;
  std::vector<std::string> environment;
  // The first steps that were computed otherwise than the side's own ledger says.
  std::optional<Step> not_as_a, not_as_b;
};

[[noreturn]] void cannot_compare(const std::string& what, const std::string& hint = {}) {
  throw Error(Code::kCannotCompare, what, hint);
}

class Bisect {
 public:
  explicit Bisect(const Options& options) : options_(options) {
    for (const Side* side : {&options.a, &options.b}) {
      if (!stdfs::exists(side->source))
        cannot_compare("there is no " + side->source,
                       "give a run's folder, or a file that `lockstep trace` made; --step says "
                       "which step");
      require_sense(*side);
    }
    read(options.a, result_.a, ledger_a_);
    read(options.b, result_.b, ledger_b_);
  }

  // Nothing if the ledgers agree and nobody asked for a step.
  std::optional<BisectResult> run() {
    const auto step = first_step();
    if (!step) return std::nullopt;
    trace(*step);
    // A step on the way from the checkpoint may be the first that differs in these environments.
    if (const auto earlier = audit::earlier_divergence(result_.a, result_.b)) {
      if (!both_runs())
        cannot_compare("the sides differ at step " + std::to_string(earlier->value) + " already",
                       "make the trace of that step");
      trace(earlier->value);
    }
    result_.odd = audit::first_divergence(result_.a, result_.b);
    if (ledger_a_) result_.not_as_a = not_in_ledger(result_.a, *ledger_a_);
    if (ledger_b_) result_.not_as_b = not_in_ledger(result_.b, *ledger_b_);
    if (result_.odd && result_.odd->kind == audit::Divergence::Kind::kOutput && both_runs())
      compare_values();
    for (const auto& one : audit::differences(result_.a.environment, result_.b.environment))
      result_.environment.push_back(one.name + ": " + brief(one.a) + " | " + brief(one.b));
    return std::move(result_);
  }

 private:
  bool both_runs() const { return ledger_a_ && ledger_b_; }

  // What the side's source holds: a run's ledger, or the trace itself.
  static void read(const Side& side, audit::Trace& trace, std::optional<ledger::Ledger>& ledger) {
    if (side.is_run())
      ledger = ledger::read(real_file_system(), train::RunFolder{side.source}.ledger(),
                            ledger::TornTail::kDrop);
    else
      trace = audit::read_trace(side.source);
  }

  std::optional<std::int64_t> first_step() {
    std::optional<std::int64_t> step;
    if (options_.step > 0) step = options_.step;
    const auto agree_on = [&](const Side& side, const audit::Trace& trace) {
      const std::int64_t its = trace.step.value;
      if (step.value_or(its) != its)
        cannot_compare(side.source + " is a trace of step " + std::to_string(its) + ", not of " +
                       std::to_string(*step));
      step = its;
    };
    if (!ledger_a_) agree_on(options_.a, result_.a);
    if (!ledger_b_) agree_on(options_.b, result_.b);
    if (step) return step;
    result_.from_ledgers = true;
    return step_of_ledgers();
  }

  // The first step in which the ledgers differ; nothing if there is none.
  std::optional<std::int64_t> step_of_ledgers() const {
    const auto difference = ledger::first_difference(*ledger_a_, *ledger_b_);
    if (!difference && std::min(ledger_a_->last(), ledger_b_->last()) == Step(0))
      cannot_compare("no step is in both ledgers: one of them ends before step 1",
                     "train it further");
    if (!difference) return std::nullopt;
    if (difference->step.value == 0)
      cannot_compare("the runs are not to be compared step by step: " + difference->what +
                         (difference->what == "data" ? " differ" : " differs"),
                     "`lockstep diff` shows what differs");
    return difference->step.value;
  }

  // Of the sides that are runs.
  void trace(std::int64_t step) {
    if (ledger_a_) result_.a = trace_of(options_.a, options_.computing, step, folder_);
    if (ledger_b_) result_.b = trace_of(options_.b, options_.computing, step, folder_);
  }

  // The odd operation's outputs.
  void compare_values() {
    const auto one = [&](const Side& side) {
      return values_of(side, options_.computing, result_.a.step.value, result_.odd->number,
                       folder_);
    };
    const std::vector<float> a = one(options_.a), b = one(options_.b);
    if (a.size() == b.size()) result_.values = state::compare(a, b);
  }

  const Options& options_;
  const TemporaryFolder folder_;
  std::optional<ledger::Ledger> ledger_a_, ledger_b_;  // of the sides that are runs
  BisectResult result_;
};

std::string sentence(const audit::Divergence& odd) {
  switch (odd.kind) {
    case audit::Divergence::Kind::kOutput:
      return odd.a + " is the first operation that differs: its inputs agree, its output does not";
    case audit::Divergence::Kind::kInput:
      return odd.a +
             " gets other inputs, though every operation before it agrees: what made them "
             "is not traced";
    case audit::Divergence::Kind::kOrder:
      return "other operations: " + odd.a + " in the first, " + odd.b + " in the second";
    case audit::Divergence::Kind::kState:
      return "every operation agrees, but the new states do not, first in " + odd.a +
             ": what changed it is not traced";
  }
  return {};
}

Json json_of(const BisectResult& result) {
  Json out = {{"same", !result.odd},
              {"step", result.a.step.value},
              {"operations", result.a.ops.size()},
              {"not_as_ledger", Json::object()}};
  if (result.not_as_a) out["not_as_ledger"]["a"] = result.not_as_a->value;
  if (result.not_as_b) out["not_as_ledger"]["b"] = result.not_as_b->value;
  if (result.odd)
    out["odd"] = {{"number", result.odd->number},
                  {"a", result.odd->a},
                  {"b", result.odd->b},
                  {"what", sentence(*result.odd)}};
  if (result.values) out["values"] = values_json(*result.values);
  out["environment"] = result.environment;
  return out;
}

void print_strange(const Side& side, const std::optional<Step>& step) {
  if (step)
    print_line("note: computed here, step ", step->value, " is not what the ledger of ",
               side.source, " says: the run was trained in another environment than this side's");
}

void print(const Options& options, const BisectResult& result) {
  for (const std::string& line : result.environment) print_line("environment ", line);
  print_strange(options.a, result.not_as_a);
  print_strange(options.b, result.not_as_b);
  const std::string step = "step " + std::to_string(result.a.step.value);
  if (!result.odd) {
    print_line(step, ": all ",
               counted(result.a.ops.size(), "operation agrees", "operations agree"));
    return;
  }
  print_line(step, ", operation ", result.odd->number, " of ", result.a.ops.size(), ":");
  print_line(sentence(*result.odd));
  if (!result.values) return;
  print_line(result.values->different, " of ", result.values->elements, " elements differ, first ",
             result.values->first, "; ulps:");
  print_lines(histogram(*result.values));
}

std::string options_of(const std::string& side) {
  return "--env-" + side + ", --program-" + side + " or --container-" + side;
}

// The ledgers differ, but the operations do not: that does not answer the question.
[[noreturn]] void refuse_agreement(const Options& options, const BisectResult& result) {
  const std::string what = "the ledgers differ at step " + std::to_string(result.a.step.value) +
                           ", but computed here both sides agree";
  if (!result.not_as_a && !result.not_as_b)
    cannot_compare(what, "their states are the same, too: `lockstep diff` shows what is not");
  cannot_compare(what, "give the environment in which " +
                           (result.not_as_a ? options.a.source : options.b.source) +
                           " was trained, by " + options_of(result.not_as_a ? "a" : "b") +
                           ", or a trace that was made there");
}

void use_engine(Options& options) {
  if (!options.engine) return;
  if (options.a.container.image.empty() && options.b.container.image.empty())
    throw Error(Code::kUsage, "bisect: --engine requires --container-a or --container-b",
                "`lockstep help bisect` shows how");
  options.a.container.engine = options.b.container.engine = *options.engine;
}

Code run(const Options& options) {
  log::set_quiet(true);
  train::catch_stop_signals();  // no folder of traces is left behind
  const auto result = Bisect(options).run();
  if (!result) {
    if (options.json)
      print_json({{"same", true}});
    else
      print_line("the ledgers agree; --step asks for a step");
    return Code::kOk;
  }
  if (!result->odd && result->from_ledgers) refuse_agreement(options, *result);
  if (options.json)
    print_json(json_of(*result));
  else
    print(options, *result);
  return result->odd ? Code::kDiffer : Code::kOk;
}

}  // namespace

Run add_bisect(Command& command) {
  const auto options = std::make_shared<Options>();
  command.add_option("a", options->a.source, "run folder, or a file that `lockstep trace` made")
      .required();
  command
      .add_option("b", options->b.source,
                  "another one of the same recipe, or the same with other "
                  "settings")
      .required();
  command.add_option("--step", options->step, "step to compare, 0: the first that differs")
      .value("STEP")
      .range(std::int64_t{0}, std::int64_t{1} << 40);
  add_side(command, options->a, "a");
  add_side(command, options->b, "b");
  command
      .add_option(
          "--engine", options->engine,
          "of both containers: buildah, podman, docker or apptainer, with options of its own")
      .value("WORDS");
  add_data(command, options->computing.data);
  add_threads(command, options->computing.threads);
  add_json(command, options->json);
  command.footer(
      "Example: lockstep bisect runs/a runs/b --env-b ONEDNN_MAX_CPU_ISA=SSE41\n"
      "Computes the step again on both sides and compares every operation. Exit codes: 0 same, 1 "
      "found, 125 cannot compare.");
  return [options]() -> Code {
    use_engine(*options);
    try {
      return run(*options);
    } catch (const Error& error) {
      throw Error(Code::kCannotCompare, error.message(), error.hint());
    } catch (const stdfs::filesystem_error& error) {
      throw Error(Code::kCannotCompare, error.what());
    }
  };
}

}  // namespace lockstep::cli
