#include "lockstep/objective/options.h"

namespace lockstep::objective {

namespace {

constexpr std::int64_t kMostTimesteps = 1 << 20;  // host::sin and cos take angles up to here

void describe_ddpm(Fields& f, Options& o) {
  f.choice("prediction", o.prediction, {"epsilon", "v"}, Effect::kBits,
           "what the network predicts");
  f.choice("schedule", o.schedule, {"linear", "cosine"}, Effect::kBits, "noise schedule");
  f.field("timesteps", o.timesteps, 1, kMostTimesteps, Effect::kBits, "timesteps of the schedule");
  f.choice("sampler", o.sampler, {"ddim", "ancestral"}, Effect::kBits, "how pictures are sampled");
  if (o.sampler == "ddim") {
    f.field("sampler_steps", o.sampler_steps, 1, kMostTimesteps, Effect::kBits,
            "timesteps visited by ddim, at most timesteps");
  }
}

}  // namespace

void describe(Fields& f, Options& o) {
  f.choice("kind", o.kind, {"ddpm", "gan", "hinge-gan"}, Effect::kBits,
           "what is minimised: gan is non-saturating");
  if (o.kind == "ddpm") describe_ddpm(f, o);
  if (o.kind == "gan" || o.kind == "hinge-gan") {
    f.field("r1", o.r1, 0.0, 1e6, Effect::kBits,
            "weight gamma of the penalty gamma/2 |dD/dx|^2 on real samples; 0: none");
  }
}

}  // namespace lockstep::objective
