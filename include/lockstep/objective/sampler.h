// A sampler: the loop from noise to samples, by predictions at (x, t). The times that it visits and
// what it does there are its own.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "lockstep/objective/process.h"
#include "lockstep/objective/samplers.h"

namespace lockstep::objective {

// What the process's target is thought to be at x, time t: the network's output, or a combination
// of several (guidance). One value of t for all samples.
using Predict = std::function<at::Tensor(const at::Tensor& x, Time t)>;
// Normals like x, others for each `use`.
using Noise = std::function<at::Tensor(std::int64_t use)>;

class Sampler {
 public:
  virtual ~Sampler() = default;
  // Samples out of pure noise, which is overwritten. Bits: arguments.
  virtual at::Tensor sample(at::Tensor noise, const Predict& predict, const Noise& more) const = 0;
  // How often that calls `predict`.
  virtual std::int64_t predictions() const = 0;
};

}  // namespace lockstep::objective
