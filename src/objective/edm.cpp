#include "lockstep/objective/edm.h"

#include "objective/diffusion.h"
#include "objective/kinds.h"

namespace lockstep::objective {

std::unique_ptr<Objective> make_edm(const Options& options, const Setting& setting) {
  const auto& o = options.kind.as<EdmOptions>();
  return make_diffusion("edm", o, make_variance_exploding(o), setting);
}

}  // namespace lockstep::objective
