#include "device.h"

#include "command.h"
#include "environment.h"
#include "lockstep/comm/identity.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/cpus.h"
#include "lockstep/core/log.h"
#include "lockstep/core/text.h"
#include "lockstep/train/out_of_memory.h"
#include "ranks.h"

namespace lockstep::cli {
namespace {

bool used_gpu = false;

constexpr int kManyForACpu = 8;  // threads: a step then takes several times as long

int threads_to_use(int asked, int ranks) {
  return asked > 0 ? asked : usable_cpus(ranks);
}

void tell_of_many(int threads, int ranks) {
  const int cpus = usable_cpus(ranks);
  if (threads > kManyForACpu * cpus)
    log::info("--threads " + std::to_string(threads) + ": a rank may use " + counted(cpus, "CPU") +
              " here, and so many threads wait for each other");
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

Error lacks_memory(const std::string& lower) {
  return train::out_of_memory(used_gpu, lower);
}

ComputingScope::ComputingScope(const Machine& machine, int ranks, int local_rank)
    : device_(open_device(machine.device, threads_to_use(machine.threads, ranks), local_rank,
                          patience(machine.device))),
      here_(*device_.kernels, device_.tensors) {
  used_gpu = machine.device != "cpu";
  if (!used_gpu && local_rank == 0) tell_of_many(machine.threads, ranks);
}

ComputingScope ComputingScope::of_task(const Machine& machine) {
  comm::Identity identity;
  if (machine.device == "cuda") identity = comm::discover(process_environment());
  return ComputingScope(machine, identity.local_size, identity.local_rank);
}

}  // namespace lockstep::cli
