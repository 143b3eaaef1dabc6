// Options of DDPM (Ho et al. 2020; v prediction: Salimans & Ho 2022).
#pragma once

#include <string>

#include "lockstep/objective/diffusion.h"
#include "lockstep/objective/noise_schedule.h"

namespace lockstep::objective {

struct DdpmOptions : DiffusionOptions {
  DdpmOptions() : DiffusionOptions(samplers_by_timesteps()) {}

  std::string prediction = "epsilon";  // epsilon, v, x0
  Kind<NoiseScheduleKind> schedule{noise_schedules()};
  std::int64_t timesteps = 1000;
  std::string weighting = "none";  // none, min-snr (Hang et al. 2023)
  double min_snr_gamma = 5.0;
};
inline void describe(Fields& f, DdpmOptions& o) {
  f.choice("prediction", o.prediction, {"epsilon", "v", "x0"}, Effect::kBits,
           "what the network predicts: the noise, the velocity, the data");
  o.schedule.choose(f, "schedule", Effect::kBits, "noise schedule");
  o.schedule.describe(f);
  f.field("timesteps", o.timesteps, 1, kMostTimesteps, Effect::kBits, "timesteps of the schedule");
  f.choice("weighting", o.weighting, {"none", "min-snr"}, bits_unless(o.weighting, "none"),
           "weights of the samples' losses: none, or min-SNR (Hang et al. 2023), which bounds the "
           "signal-to-noise ratio of each timestep");
  if (o.weighting == "min-snr")
    f.field("min_snr_gamma", o.min_snr_gamma, 1e-6, 1e6, Effect::kBits,
            "upper bound of the signal-to-noise ratio");
  describe(f, static_cast<DiffusionOptions&>(o));
}

}  // namespace lockstep::objective
