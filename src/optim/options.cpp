#include "lockstep/optim/options.h"

#include <algorithm>

#include "optim/kinds.h"

namespace lockstep::optim {

void describe(Fields& f, Options& o) {
  o.kind.choose(f, "kind", Effect::kBits, "optimiser");
  f.field("lr", o.lr, 0.0, 1e6, Effect::kBits, "peak learning rate");
  f.choice(
      "lr_scaling", o.lr_scaling, {"none", "linear", "sqrt"}, bits_unless(o.lr_scaling, "none"),
      "lr as it stands, or times batch / base_batch, or times the root of that; batch is lanes "
      "x samples_per_lane, whatever the ranks");
  if (o.lr_scaling != "none")
    f.field("base_batch", o.base_batch, 1, kMostSteps, Effect::kBits,
            "the batch that lr is meant for");
  f.field("weight_decay", o.weight_decay, 0.0, 1e6, Effect::kBits,
          "pull of the weights towards 0, as the kind says");
  f.choice(
      "decay", o.decay, {"all", "matrices"}, bits_unless(o.decay, "all"),
      "what weight_decay pulls: all parameters, or those of two or more dimensions: no biases, "
      "no scales of norms");
  o.kind.describe(f);
  f.field("clip_value", o.clip_value, 0.0, 1e30, bits_unless(o.clip_value, 0.0),
          "size to which each element of a gradient is clipped, before clip_norm; 0: off");
  f.field("clip_norm", o.clip_norm, 0.0, 1e30, Effect::kBits,
          "global gradient norm above which gradients are scaled down; 0: off");
  o.schedule.choose(f, "schedule", Effect::kBits, "learning rate after the warm-up");
  f.field("warmup", o.warmup, 0, kMostSteps, Effect::kBits, "steps of linear warm-up from 0");
  o.schedule.describe(f);
  f.field("ema_decay", o.ema_decay, 0.0, 0.9999999, Effect::kBits,
          "decay of a moving average of the weights, used for samples; 0: none");
  f.field("more_ema_decays", o.more_ema_decays, 0.0, 0.9999999,
          bits_unless(o.more_ema_decays, std::vector<double>()),
          "decays of further averages: `sample --average 2` takes the first of them");
  f.field("ema_warmup", o.ema_warmup, bits_unless(o.ema_warmup, false),
          "averages begin with small decays: at most (1 + t) / (10 + t) at update t");
}

std::vector<double> ema_decays(const Options& options) {
  if (options.ema_decay == 0) return {};
  std::vector<double> decays = {options.ema_decay};
  decays.insert(decays.end(), options.more_ema_decays.begin(), options.more_ema_decays.end());
  return decays;
}

double ema_decay_at(const Options& options, double decay, std::int64_t t) {
  if (!options.ema_warmup) return decay;
  const auto updates = static_cast<double>(t);
  return std::min(decay, (1.0 + updates) / (10.0 + updates));
}

}  // namespace lockstep::optim
