#include "device.h"

#include <algorithm>
#include <thread>

#include "lockstep/numerics/cpu.h"

namespace lockstep::cli {
namespace {

int threads_to_use(int asked, int ranks) {
  if (asked > 0) return asked;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / ranks);
}

}  // namespace

ComputingScope::ComputingScope(const Machine& machine, numerics::Isa isa, int ranks)
    : device_(open_device(machine.device, threads_to_use(machine.threads, ranks), isa)),
      here_(*device_.kernels, device_.tensors) {}

ComputingScope::ComputingScope(const Machine& machine, int ranks)
    : ComputingScope(machine, ops::device().host().isa(), ranks) {}

}  // namespace lockstep::cli
