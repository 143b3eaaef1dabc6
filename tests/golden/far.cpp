// The program on the far device: whatever --device says.
#include "device.h"
#include "support/far_device/device.h"
#include "support/far_device/fault.h"
#include "support/far_device/kernels.h"

namespace lockstep::cli {

int gpu_of(const std::string&, int) {
  return -1;
}

std::string gpu_identity(const std::string&, int) {
  return "";
}

OpenDevice open_device(const std::string&, int threads, int, double) {
  testing::far::name_faults();
  return {testing::far::make_kernels(threads), testing::far::device()};
}

void require_device(const std::string&) {}

}  // namespace lockstep::cli
