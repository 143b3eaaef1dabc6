#include "device.h"

#include "command.h"
#include "environment.h"
#include "lockstep/core/cpus.h"
#include "lockstep/core/text.h"
#include "ranks.h"

namespace lockstep::cli {
namespace {

int threads_to_use(int asked, int ranks) {
  return asked > 0 ? asked : usable_cpus(ranks);
}

// Seconds after which a GPU hangs: a step may take it longer than a message takes.
double patience(const std::string& device) {
  return device == "cpu" ? 0 : 10 * deadline(process_environment());
}

}  // namespace

bool is_device(const std::string& name) {
  return name == "cpu" || name == "cuda" || gpu_number(name);
}

std::optional<int> gpu_number(const std::string& name) {
  const auto number = name.starts_with("cuda:") ? parse_int(name.substr(5)) : std::nullopt;
  if (!number || *number < 0 || *number > 127) return std::nullopt;
  return static_cast<int>(*number);
}

ComputingScope::ComputingScope(const Machine& machine, int ranks, int local_rank)
    : device_(open_device(machine.device, threads_to_use(machine.threads, ranks), local_rank,
                          patience(machine.device))),
      here_(*device_.kernels, device_.tensors) {}

}  // namespace lockstep::cli
