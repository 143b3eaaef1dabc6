#include "lockstep/recipe/warnings.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lockstep/core/counted.h"
#include "lockstep/core/text.h"
#include "lockstep/objective/ddpm.h"
#include "lockstep/objective/diffusion.h"
#include "method_warnings.h"

namespace lockstep::recipe {
namespace {

constexpr std::int64_t kTrial = 100;  // steps: a shorter run is one, and what it lacks is no wonder
constexpr double kMostOfFirst = 1.0 / 3;  // of the first weights in an average that is trained

// How much of the weights that it began with an average has at the end, or less than kMostOfFirst.
double share_of_first(const optim::Options& optimizer, std::int64_t updates) {
  double share = 1;
  for (std::int64_t t = 1; t <= updates && share > kMostOfFirst; ++t)
    share *= optim::ema_decay_at(optimizer, optimizer.ema_decay, t);
  return share;
}

// Of a network in the whole run. A generator may rest in some steps.
std::int64_t updates_of(const Recipe& recipe, const NetworkOptions& network) {
  for (const objective::PhaseNames& phase : phases(recipe))
    if (phase.role == network.role)
      return recipe.run.steps / objective::steps_between(recipe.objective, phase);
  return recipe.run.steps;
}

using Lines = std::vector<std::string>;

void of_optimizer(const Recipe& recipe, const NetworkOptions& network, Lines& lines) {
  const optim::Options& optimizer = network.optimizer;
  const std::int64_t steps = recipe.run.steps, before = updates_before(recipe),
                     updates = updates_of(recipe, network);
  const auto say = [&](const std::string& what) {
    lines.push_back("[" + network.role + ".optimizer]: " + what);
  };
  const std::string counts =
      before > 0 ? ", which counts the " + counted(before, "update") + " before this run" : "";
  const std::string anew = " (run.from.optimizer = \"anew\" counts from 0)";
  const double peak = optim::peak(optimizer, recipe.batch.batch());
  const optim::OptimizerKind& kind = optimizer.kind.row("kind");
  if (kind.scale_invariant() && peak >= kind.too_large_lr)
    say("the learning rate is " + to_text(peak) + ": each step of " + optimizer.kind.word() +
        " moves every weight by about that much; usual are " + std::string(kind.usual_lr));
  if (const double decay = peak * optimizer.weight_decay; kind.scale_invariant() && decay >= 1)
    say("weight_decay times the learning rate is " + to_text(decay) +
        ": each step takes away all of a weight, or turns its sign");
  if (peak == 0) say("the learning rate is 0: no weight changes");
  const std::string warmup = "warmup is " + std::to_string(optimizer.warmup) + counts;
  if (before > 0 && optimizer.warmup > 0 && optimizer.warmup <= before)
    say(warmup + ": it is over already" + anew);
  if (steps >= kTrial && optimizer.warmup > before + steps)
    say("the learning rate never reaches lr: " + warmup + ", and run.steps is " +
        std::to_string(steps));
  if (steps >= kTrial && optimizer.ema_decay > 0 && !starts_from_state(recipe))
    if (const double share = share_of_first(optimizer, updates); share > kMostOfFirst)
      say("after " + std::to_string(steps) + " steps" +
          (updates < steps ? " (" + counted(updates, "update") + ")" : "") +
          " the average, which samples and `eval` take, " + "still has " + fixed(100 * share, 0) +
          " % of the first weights: take a smaller " + "ema_decay than " +
          to_text(optimizer.ema_decay) + ", or ema_warmup = true");
  if (begins_anew(recipe) && optimizer.ema_decay > 0 && optimizer.ema_warmup)
    say("ema_warmup begins anew, too: after a few updates nothing of the parent's average is left");
  const optim::ScheduleKind& schedule = optimizer.schedule.row("schedule");
  if (schedule.end == nullptr) return;
  const std::int64_t horizon = schedule.end(optimizer);
  const std::int64_t end = std::max<std::int64_t>(horizon - before, 0);
  if (steps > end)
    say("the learning rate is 0 from step " + std::to_string(end) + " on: horizon is " +
        std::to_string(horizon) + counts + ", and run.steps is " + std::to_string(steps) +
        (before > 0 ? anew : ""));
}

// What is done every so many steps, and never within the run.
void of_intervals(const Recipe& recipe, Lines& lines) {
  const std::int64_t steps = recipe.run.steps;
  if (steps < kTrial) return;
  const auto say = [&](const std::string& key, std::int64_t value, const std::string& what,
                       std::int64_t needed = 0) {
    if (value + needed > steps)
      lines.push_back(key + " is " + std::to_string(value) + ", and run.steps is " +
                      std::to_string(steps) + ": " + what);
  };
  say("[run]: validate_every", recipe.run.validate_every,
      "no loss on held-out samples is computed");
  say("[evaluation]: every", recipe.evaluation.every, "nothing is evaluated");
  say("[monitor]: every", recipe.monitor.every, "nobody looks at distances and accuracies");
  say("[monitor]: layers_every", recipe.monitor.layers_every, "nobody looks at layers");
  if (recipe.monitor.warn_spike > 0 || recipe.monitor.stop_spike > 0)
    say("[monitor]: spike_window", recipe.monitor.spike_window, "no step is judged", 1);
}

}  // namespace

std::vector<std::string> warnings(const Recipe& recipe) {
  Lines lines;
  of_intervals(recipe, lines);
  if (recipe.run.steps >= kTrial)
    std::ranges::move(method_warnings(recipe), std::back_inserter(lines));
  for (const NetworkOptions& network : recipe.networks)
    if (!is_frozen(network)) of_optimizer(recipe, network, lines);
  if (const Step first = first_of_all_phases(recipe);
      first.value > std::max<std::int64_t>(recipe.run.steps, 1))
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
