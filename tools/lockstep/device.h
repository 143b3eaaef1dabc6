// The device that a command computes on.
#pragma once

#include <memory>
#include <string>

#include "lockstep/numerics/isa.h"
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

// The device of this name, "cpu" or "cuda:N", with so many threads of the host, of this instruction
// set. Error(kUsage) for another name, Error(kEnvironment) if there is no such device. Alone in its
// library, so that a test's program can bring another (tests/golden/far.cpp).
OpenDevice open_device(const std::string& name, int threads, numerics::Isa isa);

// While it lives, this thread computes on it. `ranks` share the machine.
class ComputingScope {
 public:
  ComputingScope(const Machine& machine, numerics::Isa isa, int ranks = 1);
  // With the instruction set of the outer scope.
  explicit ComputingScope(const Machine& machine, int ranks = 1);

 private:
  const OpenDevice device_;
  const ops::DeviceScope here_;
};

}  // namespace lockstep::cli
