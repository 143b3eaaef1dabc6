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
      {.word = "ddpm",
       .meaning = "denoising diffusion",
       .options = &OptionsOf<DdpmOptions>::make,
       .roles = kOneNetwork,
       .phases = kDenoise,
       .make = &make_ddpm,
       .diffusion = &diffusion_of<DdpmOptions>,
       .scheduler = &scheduler_of_ddpm},
      {.word = "flow",
       .meaning = "rectified flow",
       .options = &OptionsOf<FlowOptions>::make,
       .roles = kOneNetwork,
       .phases = kDenoise,
       .make = &make_flow,
       .diffusion = &diffusion_of<FlowOptions>,
       .scheduler = &scheduler_of_flow},
      {.word = "edm",
       .meaning = "preconditioned denoising at noise levels",
       .options = &OptionsOf<EdmOptions>::make,
       .roles = kOneNetwork,
       .phases = kDenoise,
       .make = &make_edm,
       .diffusion = &diffusion_of<EdmOptions>,
       .scheduler = &scheduler_of_edm},
      {.word = "gan",
       .meaning = "non-saturating GAN",
       .options = &OptionsOf<GanOptions>::make,
       .roles = kGanRoles,
       .phases = kGanPhases,
       .make = &make_gan,
       .adversarial = &adversarial_of<GanOptions>,
       .judges = true},
      {.word = "hinge-gan",
       .meaning = "GAN with the hinge loss",
       .options = &OptionsOf<GanOptions>::make,
       .roles = kGanRoles,
       .phases = kGanPhases,
       .make = &make_hinge_gan,
       .adversarial = &adversarial_of<GanOptions>,
       .judges = true},
      {.word = "wasserstein-gan",
       .meaning = "GAN with the Wasserstein loss and a gradient penalty",
       .options = &OptionsOf<WassersteinGanOptions>::make,
       .roles = kGanRoles,
       .phases = kGanPhases,
       .make = &make_wasserstein_gan,
       .adversarial = &adversarial_of<WassersteinGanOptions>},
      {.word = "classifier",
       .meaning = "cross-entropy of labelled data",
       .options = &OptionsOf<NoOptions>::make,
       .roles = kOneNetwork,
       .phases = kClassify,
       .make = &make_classifier,
       .makes_samples = false},
  };
  return kRows;
}

}  // namespace lockstep::objective
