// Options of rectified flow (Liu et al. 2022), and of the times at which it is trained.
#pragma once

#include <string>

#include "lockstep/objective/diffusion.h"

namespace lockstep::objective {

struct FlowOptions : DiffusionOptions {
  FlowOptions() : DiffusionOptions(samplers_by_time()) {}

  std::string times = "uniform";  // uniform, logit-normal (Esser et al. 2024, section 3.1)
  double logit_mean = 0.0, logit_std = 1.0;
};
inline void describe(Fields& f, FlowOptions& o) {
  f.choice("times", o.times, {"uniform", "logit-normal"}, bits_unless(o.times, "uniform"),
           "how the times of training are drawn: all alike, or more often in the middle");
  if (o.times == "logit-normal") {
    f.field("logit_mean", o.logit_mean, -10.0, 10.0, Effect::kBits,
            "mean of the times' logits; above 0: more noise");
    f.field("logit_std", o.logit_std, 0.0, 10.0, Effect::kBits,
            "standard deviation of the times' logits");
  }
  describe(f, static_cast<DiffusionOptions&>(o));
}

}  // namespace lockstep::objective
