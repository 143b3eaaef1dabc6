#include "lockstep/optim/options.h"

#include "optim/kinds.h"

namespace lockstep::optim {

void describe(Fields& f, Options& o) {
  o.kind.choose(f, "kind", Effect::kBits, "optimiser");
  f.field("lr", o.lr, 0.0, 1e6, Effect::kBits, "peak learning rate");
  f.field("weight_decay", o.weight_decay, 0.0, 1e6, Effect::kBits,
          "pull of the weights towards 0, as the kind says");
  o.kind.describe(f);
  f.field("clip_norm", o.clip_norm, 0.0, 1e30, Effect::kBits,
          "global gradient norm above which gradients are scaled down; 0: off");
  o.schedule.choose(f, "schedule", Effect::kBits, "learning rate after the warm-up");
  f.field("warmup", o.warmup, 0, kMostSteps, Effect::kBits, "steps of linear warm-up from 0");
  o.schedule.describe(f);
  f.field("ema_decay", o.ema_decay, 0.0, 0.9999999, Effect::kBits,
          "decay of a moving average of the weights, used for samples; 0: none");
}

}  // namespace lockstep::optim
