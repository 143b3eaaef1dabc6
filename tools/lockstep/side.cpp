#include "side.h"

#include <cstring>
#include <filesystem>

#include "lockstep/core/foreign.h"
#include "lockstep/train/signals.h"

namespace lockstep::cli {
namespace {

namespace stdfs = std::filesystem;

constexpr std::uint64_t kMostValues = std::uint64_t{64} << 30;  // bytes, of one operation's outputs

// Runs `lockstep trace` for this side; returns the trace's file.
std::string traced(const Side& side, const Computing& computing, std::int64_t step,
                   std::optional<std::size_t> values_of, const TemporaryFolder& folder) {
  const std::string run = stdfs::canonical(side.source).string(),
                    out = folder.file(side.letter + ".jsonl");
  std::vector<std::string> arguments = {"trace",     run,
                                        out,         "--quiet",
                                        "--step",    std::to_string(step),
                                        "--threads", std::to_string(computing.threads)};
  const auto add = [&](const std::string& option, const std::string& value) {
    arguments.push_back(option);
    arguments.push_back(value);
  };
  if (values_of) add("--values-of", std::to_string(*values_of));
  const auto go_on = [&] {
    train::require_no_stop("computing step " + std::to_string(step) + " of " + side.source);
  };
  go_on();
  int code = 0;
  if (side.container.image.empty()) {
    if (!computing.data.empty()) add("--data", computing.data);
    arguments.insert(arguments.begin(), side.program.empty() ? own_program() : side.program);
    code = run_child(arguments, side.settings, "/dev/null");
  } else {
    Visible there = visible(side.source, computing.data);
    there.mounts.push_back({folder.path(), /*writable=*/true});
    arguments.insert(arguments.end(), there.arguments.begin(), there.arguments.end());
    code = static_cast<int>(
        run_contained(side.container, there.mounts, side.settings, arguments, "/dev/null"));
  }
  go_on();
  if (code != 0)
    throw Error(Code::kCannotCompare,
                "step " + std::to_string(step) + " of " + side.source +
                    " could not be computed (exit code " + std::to_string(code) + ", see above)",
                "if that lockstep has no `trace`, it is too old");
  if (!stdfs::exists(out))
    throw Error(Code::kCannotCompare,
                arguments.front() + " wrote no trace of step " + std::to_string(step),
                "give another build of lockstep");
  return out;
}

}  // namespace

bool Side::is_run() const {
  return stdfs::is_directory(source);
}

void add_side(Command& command, Side& side, const std::string& letter) {
  side.letter = letter;
  command
      .add_option("--env-" + letter, side.settings,
                  "set for the " + letter + " side; may be given again")
      .value("NAME=VALUE")
      .repeated()
      .check([](const std::string& setting) {
        const auto end = setting.find('=');
        return end == std::string::npos || end == 0 ? "it is not NAME=VALUE: " + setting
                                                    : std::string();
      });
  command.add_option("--program-" + letter, side.program, "another build of lockstep for it")
      .value("PATH");
  command.add_option("--container-" + letter, side.container.image, "an image for it")
      .value("IMAGE");
}

void require_sense(const Side& side) {
  const std::string program = "--program-" + side.letter, container = "--container-" + side.letter;
  if (!side.program.empty() && !side.container.image.empty())
    throw Error(Code::kUsage, "a container has its own lockstep",
                "leave out " + program + " or " + container);
  if (side.is_run()) return;
  if (!side.settings.empty() || !side.program.empty() || !side.container.image.empty())
    throw Error(Code::kUsage, side.source + " is a trace: it is not computed again",
                "leave out --env-" + side.letter + ", " + program + " and " + container);
}

audit::Trace trace_of(const Side& side, const Computing& computing, std::int64_t step,
                      const TemporaryFolder& folder) {
  return audit::read_trace(traced(side, computing, step, std::nullopt, folder));
}

std::vector<float> values_of(const Side& side, const Computing& computing, std::int64_t step,
                             std::size_t operation, const TemporaryFolder& folder) {
  const std::string trace = traced(side, computing, step, operation, folder);
  const Bytes bytes =
      read_file(real_file_system(), trace + ".values", kMostValues, Code::kCannotCompare);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace lockstep::cli
