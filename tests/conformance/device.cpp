#include "conformance/device.h"

#include "support/cpu.h"

namespace lockstep::conformance {

numerics::Device& device() {
  return numerics::cpu();
}

}  // namespace lockstep::conformance
