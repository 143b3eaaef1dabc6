#include "lockstep/objective/ddpm.h"

#include "lockstep/objective/variance_preserving.h"
#include "objective/diffusion.h"
#include "objective/kinds.h"

namespace lockstep::objective {

std::unique_ptr<Objective> make_ddpm(const Options& options, const Setting& setting) {
  const auto& o = options.kind.as<DdpmOptions>();
  return make_diffusion(
      "ddpm", o,
      make_variance_preserving(make_noise_schedule(o.schedule, o.timesteps), o.prediction),
      setting);
}

DiffusionOptions& diffusion_of_ddpm(Options& options) {
  return options.kind.as<DdpmOptions>();
}

}  // namespace lockstep::objective
