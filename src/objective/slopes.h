// What samplers share that follow the slope dx/dt from noise to data.
#pragma once

#include <string>
#include <vector>

#include "lockstep/objective/sampler.h"

namespace lockstep::objective {

struct SlopeStep {
  Time t;
  float length;             // of the step, negative
  LinearCombination slope;  // of x and the prediction
};

// From noise to data. Error(kUsage) for a number of steps that no recipe may have. Bits: arguments.
std::vector<SlopeStep> slope_steps(const std::string& sampler, std::int64_t steps,
                                   const Process& process);

// dx/dt at x, where the step begins.
at::Tensor slope_at(const SlopeStep& step, const at::Tensor& x, const Predict& predict);

}  // namespace lockstep::objective
