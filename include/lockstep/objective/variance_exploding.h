// The process of EDM: x_t = x0 + t e, where time t is the noise level sigma; a preconditioned
// network predicts (Karras et al. 2022, section 5 and table 1).
#pragma once

#include <memory>

#include "lockstep/objective/process.h"

namespace lockstep::objective {

// With the paper's values (table 1).
struct NoiseLevels {
  double p_mean = -1.2, p_std = 1.2;  // of the logarithms of the noise levels of training
  double sigma_data = 0.5;
  double sigma_min = 0.002, sigma_max = 80.0, rho = 7.0;  // of the noise levels of sampling
};

// The denoiser is c_skip x + c_out F(c_in x; c_noise), and the loss weighs 1 / c_out^2: so F's
// target is (x0 - c_skip x) / c_out, and F's losses weigh the same at all noise levels.
// Error(kUsage) if sigma_max is not above sigma_min. Bits: arguments.
std::unique_ptr<Process> make_variance_exploding(const NoiseLevels& levels);

}  // namespace lockstep::objective
