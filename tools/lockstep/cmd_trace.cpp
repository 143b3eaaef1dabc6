#include <limits>
#include <optional>

#include "command.h"
#include "lockstep/audit/trace.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/log.h"
#include "lockstep/train/output_file.h"
#include "mistaken.h"
#include "output.h"

namespace lockstep::cli {
namespace {

struct Options {
  std::string folder, out, data;
  std::int64_t step = 1;
  std::optional<std::int64_t> values_of;
  Machine machine;
  bool quiet = false;
};

// Values say nothing of themselves: those beside a trace are its own.
void require_values(const std::string& values, const std::string& trace) {
  train::OutputKind kind{"a file of values", ".values"};
  if (!real_file_system().exists(trace))
    kind.replaces = train::FileKind::kTrace;  // which it is not
  train::require_output(values, kind);
}

Code run(const Options& options) {
  log::set_quiet(options.quiet);
  require_no_other_than_run(options.folder);
  const auto computing = ComputingScope::of_task(options.machine);
  const std::string values = options.out + ".values";
  train::require_output(options.out, {"a trace", ".jsonl", train::FileKind::kTrace});
  if (options.values_of) require_values(values, options.out);
  audit::TraceOptions trace{
      .folder = options.folder, .step = Step(options.step), .data = {}, .values_of = {}};
  if (!options.data.empty()) trace.data = options.data;
  if (options.values_of) trace.values_of = static_cast<std::size_t>(*options.values_of);
  const audit::TraceResult result = audit::trace(trace);
  audit::write_trace(options.out, result.trace);
  if (trace.values_of) publish(real_file_system(), values, std::as_bytes(std::span(result.values)));
  print_line(options.out, ": step ", options.step, ", ",
             counted(result.trace.ops.size(), "operation"), ", state ", result.trace.state);
  return Code::kOk;
}

}  // namespace

Run add_trace(Command& command) {
  const auto options = std::make_shared<Options>();
  command.add_option("run", options->folder, "run folder; nothing is written to it").required();
  command.add_option("out", options->out, "file to write, JSON lines").required();
  command.add_option("--step", options->step, "step to trace").value("STEP");
  command
      .add_option("--values-of", options->values_of,
                  "write the output of this operation (0, 1, …) to OUT.values, binary32")
      .range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max());
  add_data(command, options->data);
  add_machine(command, options->machine);
  add_quiet(command, options->quiet);
  command.footer(
      "Example: lockstep trace runs/fashion-mnist-ddpm step-41.jsonl --step 41\n"
      "A digest of every operation's inputs and outputs, for `lockstep bisect` here or elsewhere.");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
