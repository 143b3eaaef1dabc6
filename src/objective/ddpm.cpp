#include "lockstep/objective/ddpm.h"

#include "lockstep/core/error.h"
#include "lockstep/objective/variance_preserving.h"
#include "objective/diffusion.h"
#include "objective/kinds.h"

namespace lockstep::objective {

std::unique_ptr<Objective> make_ddpm(const Options& options, const Setting& setting) {
  const auto& o = options.kind.as<DdpmOptions>();
  std::optional<double> min_snr_gamma;
  if (o.weighting == "min-snr")
    min_snr_gamma = o.min_snr_gamma;
  else if (o.weighting != "none")
    throw Error(Code::kUsage, "weighting: there is no weighting '" + o.weighting + "'",
                "use none or min-snr");
  return make_diffusion("ddpm", o,
                        make_variance_preserving(make_noise_schedule(o.schedule, o.timesteps),
                                                 o.prediction, min_snr_gamma),
                        setting);
}

}  // namespace lockstep::objective
