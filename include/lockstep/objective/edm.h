// Options of EDM (Karras et al. 2022).
#pragma once

#include "lockstep/objective/diffusion.h"
#include "lockstep/objective/variance_exploding.h"

namespace lockstep::objective {

struct EdmOptions : NoiseLevels, DiffusionOptions {
  EdmOptions() : DiffusionOptions(samplers_by_noise_level()) {}
};
inline void describe(Fields& f, EdmOptions& o) {
  f.field("p_mean", o.p_mean, -10.0, 10.0, Effect::kBits,
          "mean of the logarithms of the noise levels that are trained");
  f.field("p_std", o.p_std, 0.0, 10.0, Effect::kBits, "their standard deviation");
  f.field("sigma_data", o.sigma_data, 1e-3, 1e3, Effect::kBits,
          "standard deviation of the data; 0.5, as in the paper, for most pictures");
  f.field("sigma_min", o.sigma_min, 1e-6, 1e6, Effect::kBits,
          "lowest noise level that samplers visit before 0");
  f.field("sigma_max", o.sigma_max, 1e-6, 1e6, Effect::kBits,
          "noise level that samples start from; above sigma_min");
  f.field("rho", o.rho, 1.0, 100.0, Effect::kBits,
          "how much closer to each other low noise levels are; 1: equally spaced");
  describe(f, static_cast<DiffusionOptions&>(o));
}

}  // namespace lockstep::objective
