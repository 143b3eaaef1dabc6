// The far device's kernels: the host's, at the near addresses of what they are given.
#pragma once

#include <memory>

#include "lockstep/numerics/device.h"
#include "lockstep/numerics/isa.h"

namespace lockstep::testing::far {

std::unique_ptr<numerics::Device> make_kernels(int threads = 1,
                                               numerics::Isa isa = numerics::usual_isa());

}  // namespace lockstep::testing::far
