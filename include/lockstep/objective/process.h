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

// Of two tensors a and b: fma(of_first, a, of_second * b).
struct Combination {
  float of_first = 0, of_second = 0;
};

class Process {
 public:
  virtual ~Process() = default;
  // The time at which the sample of draw `position` is trained. Bits: stream, position.
  virtual Time drawn(const numerics::Stream& stream, std::uint64_t position) const = 0;
  // What networks are told of a time.
  virtual float told(Time t) const { return t; }
  // Networks are given this times x_t, and in sampling x starts as `start` times normals.
  virtual float scale(Time /*t*/) const { return 1; }
  virtual float start() const { return 1; }
  virtual Combination mix(Time t) const = 0;                    // scale * x_t of x0 and e
  virtual std::optional<Combination> target(Time t) const = 0;  // of e and x0; nothing: e itself
  // What the loss of a sample at t is multiplied with; nothing: 1 at all times.
  virtual std::optional<float> weight(Time /*t*/) const { return std::nullopt; }
  // Of x_t and what was predicted at t:
  virtual Combination x0(Time t) const = 0;
  virtual Combination noise(Time t) const = 0;     // e
  virtual Combination velocity(Time t) const = 0;  // the slope of x_t on its way from x0 to e

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
