// Noise schedules of diffusion, in double with host functions, in index order. Free of LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::objective {

// Timesteps count from 0 (almost no noise) to size()-1.
struct Schedule {
  std::vector<double> beta;
  std::vector<double> alpha_bar;  // running product of 1 - beta: the signal's share of the variance

  std::int64_t size() const { return static_cast<std::int64_t>(beta.size()); }
  double alpha_bar_before(std::int64_t t) const {  // 1 before the first timestep
    return t == 0 ? 1.0 : alpha_bar[static_cast<std::size_t>(t - 1)];
  }
};

// linear: beta from 1e-4 to 0.02 for 1000 timesteps (Ho et al. 2020), scaled by 1000/timesteps.
// cosine: alpha_bar ~ cos^2((t/T + 0.008)/1.008 * pi/2) (Nichol & Dhariwal 2021). beta <= 0.999 in
// both. Error(kUsage) for another name or timesteps < 1. Bits: arguments.
Schedule make_schedule(const std::string& name, std::int64_t timesteps);

}  // namespace lockstep::objective
