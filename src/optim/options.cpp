#include "lockstep/optim/options.h"

namespace lockstep::optim {

namespace {

constexpr std::int64_t kMostSteps = std::int64_t{1} << 40;

}  // namespace

void describe(Fields& f, Options& o) {
  f.choice("kind", o.kind, {"adamw", "sgd"}, Effect::kBits, "optimiser");
  f.field("lr", o.lr, 0.0, 1e6, Effect::kBits, "peak learning rate");
  f.field("weight_decay", o.weight_decay, 0.0, 1e6, Effect::kBits,
          "adamw: decoupled, times lr; sgd: added to the gradient");
  if (o.kind == "adamw") {
    f.field("beta1", o.beta1, 0.0, 0.999999, Effect::kBits, "decay of the first moment");
    f.field("beta2", o.beta2, 0.0, 0.9999999, Effect::kBits, "decay of the second moment");
    f.field("eps", o.eps, 1e-30, 1.0, Effect::kBits, "added to the root of the second moment");
  }
  if (o.kind == "sgd") {
    f.field("momentum", o.momentum, 0.0, 0.999999, Effect::kBits, "decay of the velocity");
  }
  f.field("clip_norm", o.clip_norm, 0.0, 1e30, Effect::kBits,
          "global gradient norm above which gradients are scaled down; 0: off");
  f.choice("schedule", o.schedule, {"constant", "cosine"}, Effect::kBits,
           "learning rate after the warm-up");
  f.field("warmup", o.warmup, 0, kMostSteps, Effect::kBits, "steps of linear warm-up from 0");
  if (o.schedule == "cosine") {
    f.field("horizon", o.horizon, 1, kMostSteps, Effect::kBits,
            "step from which the rate is 0, such as run.steps; greater than warmup");
  }
  f.field("ema_decay", o.ema_decay, 0.0, 0.9999999, Effect::kBits,
          "decay of a moving average of the weights, used for samples; 0: none");
}

}  // namespace lockstep::optim
