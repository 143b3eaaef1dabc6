// The device that a command computes on.
#pragma once

#include <memory>
#include <optional>
#include <string>

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

// Names of devices: "cpu", "cuda" (the GPU of this process's local rank), "cuda:N".
bool is_device(const std::string& name);
// N of "cuda:N", at most 127.
std::optional<int> gpu_number(const std::string& name);

// The next three look for GPUs. They are alone in their library, so that a test's program can bring
// others (tests/golden/far.cpp).
//
// The GPU that a rank computes on, by the same names; -1: none of NVIDIA's. Ranks of one machine
// share its GPUs in turn. Error(kEnvironment) if there is no driver.
int gpu_of(const std::string& name, int local_rank);
// The device of this name, with so many threads of the host. The ranks of one machine have its GPUs
// in turn, and equal shares of a GPU's memory; one with a number is this rank's own.
// Error(kEnvironment) if there is no such device.
OpenDevice open_device(const std::string& name, int threads, int ranks, int local_rank);
// Error(kEnvironment) if there is no such device. Takes nothing of it: for who starts ranks.
void require_device(const std::string& name);

// While it lives, this thread computes on it. `ranks` share the machine, of which this is one.
class ComputingScope {
 public:
  explicit ComputingScope(const Machine& machine, int ranks = 1, int local_rank = 0);

 private:
  const OpenDevice device_;
  const ops::DeviceScope here_;
};

}  // namespace lockstep::cli
