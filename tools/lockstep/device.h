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

// Of "cuda" (0) and "cuda:N", the names of devices beside "cpu".
std::optional<int> gpu_number(const std::string& name);

// The device of this name, with so many threads of the host. Error(kEnvironment) if there is no
// such device. Alone with the next in their library, so that a test's program can bring another
// (tests/golden/far.cpp).
OpenDevice open_device(const std::string& name, int threads);
// Error(kEnvironment) if there is no such device. Takes nothing of it: for who starts ranks.
void require_device(const std::string& name);

// While it lives, this thread computes on it. `ranks` share the machine.
class ComputingScope {
 public:
  explicit ComputingScope(const Machine& machine, int ranks = 1);

 private:
  const OpenDevice device_;
  const ops::DeviceScope here_;
};

}  // namespace lockstep::cli
