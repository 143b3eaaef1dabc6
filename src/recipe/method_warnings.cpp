#include "method_warnings.h"

#include <algorithm>
#include <utility>

#include "lockstep/core/text.h"
#include "lockstep/model/dcgan_discriminator.h"
#include "lockstep/model/dcgan_generator.h"
#include "lockstep/model/mlp_discriminator.h"
#include "lockstep/model/sngan_discriminator.h"
#include "lockstep/model/sngan_generator.h"
#include "lockstep/numerics/host_math.h"
#include "lockstep/objective/edm.h"
#include "lockstep/objective/flow.h"
#include "lockstep/objective/wasserstein_gan.h"

namespace lockstep::recipe {
namespace {

using Lines = std::vector<std::string>;

constexpr std::int64_t kFewLatents = 4;  // fewer numbers make few different pictures
constexpr double kRarest = 6;            // deviations of a normal: one draw in 500 million

// The noise levels that samplers visit are those that are trained.
void of_edm(const Recipe& recipe, const objective::EdmOptions& edm, Lines& lines) {
  const objective::NoiseLevels usual;
  if (data::arrays(recipe.data) && edm.sigma_data == usual.sigma_data)
    lines.push_back("[objective]: sigma_data is " + to_text(edm.sigma_data) +
                    ", the deviation of pictures: of fields and signals that were standardised it "
                    "is 1");
  if (edm.p_std == 0)
    return lines.push_back(
        "[objective]: p_std is 0: one noise level is trained, and samplers visit others");
  for (const auto& [key, sigma] :
       {std::pair("sigma_min", edm.sigma_min), {"sigma_max", edm.sigma_max}})
    if (const double away = numerics::host::log(sigma) - edm.p_mean;
        std::max(away, -away) > kRarest * edm.p_std)
      lines.push_back("[objective]: " + std::string(key) + " is " + to_text(sigma) +
                      ": so far from p_mean no noise level is ever trained");
}

void of_objective(const Recipe& recipe, Lines& lines) {
  const objective::Options& objective = recipe.objective;
  if (objective.kind == "edm") of_edm(recipe, objective.kind.as<objective::EdmOptions>(), lines);
  if (objective.kind == "flow") {
    const auto& flow = objective.kind.as<objective::FlowOptions>();
    if (flow.times == "logit-normal" && flow.logit_std == 0)
      lines.push_back(
          "[objective]: logit_std is 0: one time is trained, and samplers visit others");
  }
  if (recipe.data.crop > 0 && objective::makes_samples(objective))
    lines.push_back(
        "[data]: crop is for classifiers: what learns moved pictures makes moved ones, with "
        "reflected edges");
}

bool has_spectral_norm(const NetworkOptions& network) {
  if (network.model.kind == "mlp-discriminator")
    return network.model.kind.as<model::MlpDiscriminatorOptions>().norm == "spectral";
  return network.model.kind == "sngan-discriminator" &&
         network.model.kind.as<model::SnganDiscriminatorOptions>().norm == "spectral";
}

void of_network(const Recipe& recipe, const NetworkOptions& network, Lines& lines) {
  const bool dcgan = network.model.kind == "dcgan-generator";
  if (dcgan || network.model.kind == "sngan-generator") {
    const std::int64_t latent = dcgan
                                    ? network.model.kind.as<model::DcganGeneratorOptions>().latent
                                    : network.model.kind.as<model::SnganGeneratorOptions>().latent;
    if (latent < kFewLatents)
      lines.push_back("[" + network.role + "]: latent is " + std::to_string(latent) +
                      ": so few numbers make few different pictures; usual are 64 to 128");
    if (data::arrays(recipe.data))
      lines.push_back(
          "[" + network.role + "]: what " + network.model.kind.word() +
          " makes lies within -1 and 1, and fields may not: scale them into that range");
  }
  if (network.role == "discriminator" && recipe.objective.kind == "wasserstein-gan" &&
      recipe.objective.kind.as<objective::WassersteinGanOptions>().gp == 0 &&
      !has_spectral_norm(network))
    lines.push_back(
        "[objective]: gp is 0, and the critic has no spectral norm: nothing bounds its loss "
        "(clip_value and clip_norm bound gradients)");
}

}  // namespace

std::vector<std::string> method_warnings(const Recipe& recipe) {
  Lines lines;
  of_objective(recipe, lines);
  for (const NetworkOptions& network : recipe.networks) of_network(recipe, network, lines);
  return lines;
}

}  // namespace lockstep::recipe
