#include "lockstep/recipe/warnings.h"

#include <algorithm>
#include <utility>

#include "lockstep/core/counted.h"
#include "lockstep/core/text.h"
#include "lockstep/objective/ddpm.h"
#include "lockstep/objective/diffusion.h"

namespace lockstep::recipe {

namespace {

constexpr double kLargestRate = 0.1;  // weights are about this large: nothing would stay learnt

}  // namespace

std::vector<std::string> warnings(const Recipe& recipe) {
  std::vector<std::string> lines;
  const std::int64_t before = updates_before(recipe);
  const std::string counts =
      before > 0 ? ", which counts the " + counted(before, "update") + " before this run" : "";
  const std::string anew = " (run.from.optimizer = \"anew\" counts from 0)";
  for (const NetworkOptions& network : recipe.networks) {
    if (is_frozen(network)) continue;
    const optim::Options& optimizer = network.optimizer;
    const std::string where = "[" + network.role + ".optimizer]: ";
    const double peak = optim::peak(optimizer, recipe.batch.batch());
    if (optimizer.kind.row("kind").scale_invariant && peak >= kLargestRate)
      lines.push_back(where + "the learning rate is " + to_text(peak) + ": each step of " +
                      optimizer.kind.word() +
                      " moves every weight by about that much; usual are 1e-4 to 1e-2");
    if (before > 0 && optimizer.warmup > 0 && optimizer.warmup <= before)
      lines.push_back(where + "warmup is " + std::to_string(optimizer.warmup) + counts +
                      ": it is over already" + anew);
    const optim::ScheduleKind& schedule = optimizer.schedule.row("schedule");
    if (schedule.end == nullptr) continue;
    const std::int64_t horizon = schedule.end(optimizer);
    const std::int64_t end = std::max<std::int64_t>(horizon - before, 0);
    if (recipe.run.steps > end)
      lines.push_back(where + "the learning rate is 0 from step " + std::to_string(end) +
                      " on: horizon is " + std::to_string(horizon) + counts +
                      ", and run.steps is " + std::to_string(recipe.run.steps) +
                      (before > 0 ? anew : ""));
  }
  if (const Step first = first_of_all_phases(recipe); first.value > recipe.run.steps)
    lines.push_back("[objective]: the generator trains at step " + std::to_string(first.value) +
                    " for the first time (discriminator_steps), and run.steps is " +
                    std::to_string(recipe.run.steps));
  objective::Options objective = recipe.objective;
  const auto* const diffusion = objective::diffusion(objective);
  if (diffusion && recipe.data.classes > 0 && static_cast<float>(diffusion->label_dropout) == 1.0F)
    lines.push_back(
        "[objective]: label_dropout is 1, so no sample is trained with its class: neither classes "
        "nor guidance change anything");
  if (objective.kind == "ddpm" && data::arrays(recipe.data) &&
      std::as_const(objective).kind.as<objective::DdpmOptions>().prediction == "epsilon")
    lines.push_back(
        "[objective]: values of fields and signals are not clipped while samples are made, which "
        "multiplies the errors of a predicted epsilon: take prediction = \"v\" or \"x0\", "
        "or kind = \"flow\"");
  const bool judges = recipe.monitor.warn_accuracy < 1 || recipe.monitor.stop_accuracy < 1;
  for (const NetworkOptions& network : recipe.networks)
    if (is_frozen(network) && network.role == "discriminator" && judges)
      lines.push_back("[monitor]: the discriminator is frozen, so its accuracy is not measured");
  const objective::ObjectiveKind& kind = recipe.objective.kind.row("kind");
  const bool discriminates = std::ranges::find(kind.roles, "discriminator") != kind.roles.end();
  if (judges && !kind.judges)
    lines.push_back(discriminates ? "[monitor]: the discriminator of " + std::string(kind.word) +
                                        " gives no verdicts, so its accuracy is not measured"
                                  : "[monitor]: " + std::string(kind.word) +
                                        " has no discriminator, so no accuracy is measured");
  if (recipe.monitor.every == 0 && (recipe.monitor.stop_distance > 0 || judges))
    lines.push_back(
        "[monitor]: every is 0, so nobody looks at distances and accuracies: set it, for example "
        "to 100 (steps)");
  return lines;
}

}  // namespace lockstep::recipe
