// Noise schedules of diffusion, and the linear steps that samplers make of them. All in double with
// host functions, in index order; floats are rounded once, where a kernel takes them.
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

// One step of a sampler at timestep t:  x0 = clip(x0_from_x * x + x0_from_output * output, -1, 1),
// then x = next_from_x0 * x0 + next_from_x * x + noise * normal.
struct SamplerStep {
  std::int64_t t = 0;
  float x0_from_x = 0, x0_from_output = 0;
  float next_from_x0 = 0, next_from_x = 0;
  float noise = 0;  // 0: no draw
};

// The explicit table, ancestral or ddim: steps in the order in which they are made, from noise to
// picture. `visited`: timesteps that ddim visits, at most schedule.size(); ancestral visits all.
// Error(kUsage) for another name or number. Bits: arguments.
std::vector<SamplerStep> make_sampler(const std::string& name, const Schedule& schedule,
                                      const std::string& prediction, std::int64_t visited);

}  // namespace lockstep::objective
