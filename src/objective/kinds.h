// Functions of the rows in this folder's tables.
#pragma once

#include "lockstep/objective/noise_schedule.h"
#include "lockstep/objective/options.h"
#include "lockstep/objective/samplers.h"

namespace lockstep::objective {

using SamplerMaker = std::unique_ptr<Sampler>(const Kind<SamplerKind>& chosen,
                                              const Process& process);
SamplerMaker make_linear, make_euler, make_heun;
using SamplerPlan = std::vector<SamplerStep>(const Kind<SamplerKind>& chosen,
                                             const Process& process);
SamplerPlan plan_of_ancestral, plan_of_ddim;
template <class Chosen>
std::int64_t& steps_of(Kind<SamplerKind>& chosen) {
  return chosen.as<Chosen>().steps;
}

using ObjectiveMaker = std::unique_ptr<Objective>(const Options& options, const Setting& setting);
ObjectiveMaker make_ddpm, make_flow, make_edm;
ObjectiveMaker make_gan, make_hinge_gan, make_wasserstein_gan;
ObjectiveMaker make_classifier;
Json scheduler_of_ddpm(const Options& options);
Json scheduler_of_flow(const Options& options);
Json scheduler_of_edm(const Options& options);
template <class Chosen>
DiffusionOptions& diffusion_of(Options& options) {
  return options.kind.as<Chosen>();
}
template <class Chosen>
const AdversarialOptions& adversarial_of(const Options& options) {
  return options.kind.as<Chosen>();
}

}  // namespace lockstep::objective
