// The table of the objectives: one row a kind.
#include "lockstep/objective/ddpm.h"
#include "lockstep/objective/edm.h"
#include "lockstep/objective/flow.h"
#include "lockstep/objective/gan.h"
#include "lockstep/objective/wasserstein_gan.h"
#include "objective/kinds.h"

namespace lockstep::objective {
namespace {

constexpr std::string_view kOneNetwork[] = {"model"}, kGanRoles[] = {"generator", "discriminator"};
constexpr PhaseNames kDenoise[] = {{"denoise", "model"}};
constexpr PhaseNames kClassify[] = {{"classify", "model"}};
constexpr PhaseNames kGanPhases[] = {{"discriminator", "discriminator", "generator"},
                                     {"generator", "generator", "generator"}};

}  // namespace

std::span<const ObjectiveKind> objectives() {
  static constexpr ObjectiveKind kRows[] = {
      {"ddpm", "denoising diffusion", &OptionsOf<DdpmOptions>::make, kOneNetwork, kDenoise,
       &make_ddpm, &diffusion_of_ddpm, nullptr, false, &scheduler_of_ddpm},
      {"flow", "rectified flow", &OptionsOf<FlowOptions>::make, kOneNetwork, kDenoise, &make_flow,
       &diffusion_of_flow, nullptr, false, &scheduler_of_flow},
      {"edm", "preconditioned denoising at noise levels", &OptionsOf<EdmOptions>::make, kOneNetwork,
       kDenoise, &make_edm, &diffusion_of_edm, nullptr, false, &scheduler_of_edm},
      {"gan", "non-saturating GAN", &OptionsOf<GanOptions>::make, kGanRoles, kGanPhases, &make_gan,
       nullptr, &adversarial_of_gan, true},
      {"hinge-gan", "GAN with the hinge loss", &OptionsOf<GanOptions>::make, kGanRoles, kGanPhases,
       &make_hinge_gan, nullptr, &adversarial_of_gan, true},
      {"wasserstein-gan", "GAN with the Wasserstein loss and a gradient penalty",
       &OptionsOf<WassersteinGanOptions>::make, kGanRoles, kGanPhases, &make_wasserstein_gan,
       nullptr, &adversarial_of_wasserstein_gan},
      {"classifier", "cross-entropy of labelled data", &OptionsOf<NoOptions>::make, kOneNetwork,
       kClassify, &make_classifier, nullptr, nullptr, false, nullptr, /*makes_samples=*/false},
  };
  return kRows;
}

}  // namespace lockstep::objective
