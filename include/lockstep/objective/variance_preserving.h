// The process of DDPM: x_t = sqrt(ab) x0 + sqrt(1-ab) e at the timesteps of a noise schedule, drawn
// uniformly (Ho et al. 2020).
#pragma once

#include <memory>
#include <string>

#include "lockstep/objective/process.h"

namespace lockstep::objective {

// `prediction`: epsilon (e), x0, or v = sqrt(ab) e - sqrt(1-ab) x0 (Salimans & Ho 2022), which is
// also the velocity: by the angle whose cosine is sqrt(ab). Error(kUsage) for another.
// `min_snr_gamma`: losses weigh min(snr, gamma) for x0, min(snr, gamma) / snr for epsilon,
// min(snr, gamma) / (snr + 1) for v, snr = ab / (1-ab) (Hang et al. 2023, section 3.4); nothing:
// all alike. Bits: arguments.
std::unique_ptr<Process> make_variance_preserving(NoiseSchedule schedule,
                                                  const std::string& prediction,
                                                  std::optional<double> min_snr_gamma = {});

}  // namespace lockstep::objective
