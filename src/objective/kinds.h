// Functions of the rows in this folder's tables.
#pragma once

#include "lockstep/objective/noise_schedule.h"
#include "lockstep/objective/options.h"
#include "lockstep/objective/samplers.h"

namespace lockstep::objective {

std::unique_ptr<Sampler> make_linear(const Kind<SamplerKind>& chosen, const Process& process);
std::vector<SamplerStep> plan_of_ancestral(const Kind<SamplerKind>& chosen, const Process& process);
std::vector<SamplerStep> plan_of_ddim(const Kind<SamplerKind>& chosen, const Process& process);
std::int64_t& steps_of_ddim(Kind<SamplerKind>& chosen);
std::unique_ptr<Sampler> make_euler(const Kind<SamplerKind>& chosen, const Process& process);
std::int64_t& steps_of_euler(Kind<SamplerKind>& chosen);
std::unique_ptr<Sampler> make_heun(const Kind<SamplerKind>& chosen, const Process& process);
std::int64_t& steps_of_heun(Kind<SamplerKind>& chosen);

std::unique_ptr<Objective> make_ddpm(const Options& options, const Setting& setting);
DiffusionOptions& diffusion_of_ddpm(Options& options);
std::unique_ptr<Objective> make_flow(const Options& options, const Setting& setting);
DiffusionOptions& diffusion_of_flow(Options& options);
Json scheduler_of_ddpm(const Options& options);
Json scheduler_of_flow(const Options& options);
Json scheduler_of_edm(const Options& options);
std::unique_ptr<Objective> make_edm(const Options& options, const Setting& setting);
DiffusionOptions& diffusion_of_edm(Options& options);
std::unique_ptr<Objective> make_gan(const Options& options, const Setting& setting);
const AdversarialOptions& adversarial_of_gan(const Options& options);
std::unique_ptr<Objective> make_hinge_gan(const Options& options, const Setting& setting);
std::unique_ptr<Objective> make_wasserstein_gan(const Options& options, const Setting& setting);
const AdversarialOptions& adversarial_of_wasserstein_gan(const Options& options);
std::unique_ptr<Objective> make_classifier(const Options& options, const Setting& setting);

}  // namespace lockstep::objective
