// The kernels of the specification for CUDA: the same list as cpu.h's.
#include "lockstep/numerics/cuda.h"

#include "lockstep/core/error.h"

namespace lockstep::numerics {

std::unique_ptr<Device> make_cuda(int number) {
  require_cuda(number);
  return nullptr;
}

void require_cuda(int) {
  throw Error(Code::kEnvironment, "this build has no CUDA", "compute on the CPU: --device cpu");
}

}  // namespace lockstep::numerics
