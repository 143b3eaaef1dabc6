// The process of EDM: x_t = x0 + t e, where time t is the noise level sigma; a preconditioned
// network predicts (Karras et al. 2022, section 5 and table 1).
#pragma once

#include <memory>

#include "lockstep/objective/edm.h"
#include "lockstep/objective/process.h"

namespace lockstep::objective {

// The denoiser is c_skip x + c_out F(c_in x; c_noise), and the loss weighs 1 / c_out^2: so F's
// target is (x0 - c_skip x) / c_out, and F's losses weigh the same at all noise levels.
// Error(kUsage) if sigma_max is not above sigma_min. Bits: arguments.
std::unique_ptr<Process> make_variance_exploding(const EdmOptions& options);

}  // namespace lockstep::objective
