// The device that a command computes on.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"

namespace lockstep::cli {

struct Machine {
  int threads = 0;  // of this process, 0: one a core
  std::string device = "cpu";
};

struct OpenDevice {
  std::unique_ptr<numerics::Device> kernels;
  at::Device tensors;
};

// Names of devices: "cpu", "cuda" (a GPU by this process's local rank), "cuda:N".
bool is_device(const std::string& name);
// N of "cuda:N", at most 127.
std::optional<int> gpu_number(const std::string& name);

// The next four look for GPUs. They are alone in their library, so that a test's program can bring
// others (tests/golden/far.cpp).
//
// The number of the GPU that a rank computes on, among those that its process sees
// (CUDA_VISIBLE_DEVICES); -1: none of NVIDIA's. Ranks that see the same GPUs have them in turn; one
// that sees a single GPU has that one. Error(kEnvironment) if there is no driver.
int gpu_of(const std::string& name, int local_rank);
// Which GPU that is, in other processes' eyes, too: the same text for the same GPU of the same
// host, and for no other. "": none of NVIDIA's. Errors: as open_device.
std::string gpu_identity(const std::string& name, int local_rank);
// The device of this name, with so many threads of the host. Error(kEnvironment) if there is no
// such device; later, if it has not done its work in `patience` seconds.
OpenDevice open_device(const std::string& name, int threads, int local_rank, double patience);
// Error(kEnvironment) if there is no such device. Takes nothing of it: for who starts ranks.
void require_device(const std::string& name);

// What std::bad_alloc means here: the memory of the host, or of a GPU that was computed on. lower:
// what else to do.
Error lacks_memory(const std::string& lower = {});

// While it lives, this thread computes on it. `ranks` share the machine, of which this is one.
class ComputingScope {
 public:
  explicit ComputingScope(const Machine& machine, int ranks = 1, int local_rank = 0);
  // For a command that computes alone, and may be one of several tasks of a launcher: "cuda" is its
  // GPU among theirs. Errors: those of comm::discover.
  static ComputingScope of_task(const Machine& machine);

 private:
  const OpenDevice device_;
  const ops::DeviceScope here_;
};

}  // namespace lockstep::cli
