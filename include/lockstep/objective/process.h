// A diffusion process: how data x0 and noise e mix over time, what a network is asked to predict,
// and what a prediction says. Coefficients in double with host functions, rounded once. Free of
// LibTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lockstep/numerics/philox.h"
#include "lockstep/objective/noise_schedule.h"

namespace lockstep::objective {

// The number of a timestep, or a point of continuous time.
using Time = float;

// Of two tensors x and y: fma(a, x, b * y).
struct LinearCombination {
  float a = 0, b = 0;
};

class Process {
 public:
  virtual ~Process() = default;
  // The time at which the sample of draw `position` is trained. Bits: stream, position.
  virtual Time sample_time(const numerics::Stream& stream, std::uint64_t position) const = 0;
  // What networks are given of a time: c_noise of Karras et al. 2022.
  virtual float time_input(Time t) const { return t; }
  // Networks are given this times x_t: c_in of Karras et al. 2022.
  virtual float input_scale(Time /*t*/) const { return 1; }
  // Samples start from this times normals.
  virtual float init_noise_sigma() const { return 1; }
  // input_scale * x_t, of x0 and e.
  virtual LinearCombination noising(Time t) const = 0;
  // What networks learn, of e and x0; nothing: e itself.
  virtual std::optional<LinearCombination> target(Time t) const = 0;
  // What the loss of a sample at t is multiplied with; nothing: 1 at all times.
  virtual std::optional<float> weight(Time /*t*/) const { return std::nullopt; }
  // Of x_t and what was predicted at t:
  virtual LinearCombination x0(Time t) const = 0;
  virtual LinearCombination noise(Time t) const = 0;     // e
  virtual LinearCombination velocity(Time t) const = 0;  // the slope of x_t on its way from x0 to e

  // Of a process whose times are timesteps; Error(kBug) where time is continuous.
  virtual const NoiseSchedule& schedule() const;
  // Of one in continuous time: where a sampler's steps begin, from noise on, and after them 0.
  // Error(kBug) where times are timesteps.
  virtual std::vector<double> times(std::int64_t steps) const;

  // Are data within [-1, 1], as pictures are? Then samplers may clip what is predicted of them.
  bool bounded() const { return bounded_; }
  void take_unbounded() { bounded_ = false; }

 private:
  bool bounded_ = true;
};

}  // namespace lockstep::objective
