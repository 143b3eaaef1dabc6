// A diffusion process: how data x0 and noise e mix over time, what a network is asked to predict,
// and what a prediction says. Coefficients in double with host functions, rounded once. Free of
// LibTorch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lockstep/numerics/philox.h"
#include "lockstep/objective/schedule.h"

namespace lockstep::objective {

// What the network is told: the number of a timestep, or a point of continuous time.
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
  virtual Combination mix(Time t) const = 0;                    // x_t of x0 and e
  virtual std::optional<Combination> target(Time t) const = 0;  // of e and x0; nothing: e itself
  virtual Combination x0(Time t) const = 0;                     // of x_t and what was predicted
};

// x_t = sqrt(ab) x0 + sqrt(1-ab) e at the timesteps of the schedule, drawn uniformly (Ho et al.
// 2020). `prediction`: epsilon (e), or v = sqrt(ab) e - sqrt(1-ab) x0 (Salimans & Ho 2022);
// Error(kUsage) for another. Bits: arguments.
std::unique_ptr<Process> make_process(const Schedule& schedule, const std::string& prediction);

}  // namespace lockstep::objective
