#include "monitor/layers.h"

#include <string_view>

#include "lockstep/core/counted.h"
#include "lockstep/core/finite.h"
#include "lockstep/core/text.h"
#include "monitor/robust_score.h"

namespace lockstep::monitor {
namespace {

// Of the network's norm, or its highest activation, below which nothing explodes.
constexpr double kShare = 0.1;
constexpr std::size_t kHistory = 16, kFewest = 4;  // checks that a value is compared with

// Of a whole network.
struct Totals {
  double norm = 0, gradient = 0;  // squares of norms
  float activation = 0;           // the highest
};

// The first part of the name of a tensor, or of an operation.
std::string_view network_of(std::string_view name) {
  return name.substr(0, name.find('/'));
}

}  // namespace

double LayerWatch::growth(std::deque<double>& last, float value) const {
  double times = 0;
  if (last.size() >= kFewest) {
    const double usual = median({last.begin(), last.end()});
    if (usual > 0 && double{value} > options_.layers_growth * usual) times = double{value} / usual;
  }
  last.push_back(value);
  if (last.size() > kHistory) last.pop_front();
  return options_.layers_growth > 0 ? times : 0;
}

void LayerWatch::compare(const std::string& what, float value, double whole,
                         std::deque<double>& last, const Say& say) const {
  if (!is_finite(value)) return say(what + " is not finite");
  const double times = growth(last, value);
  // What begins at nearly 0 grows by any factor, and explodes nothing.
  const bool large = double{value} * double{value} >= kShare * kShare * whole;
  if (times > 0 && large)
    say(what + " is " + to_text(value) + ", " + fixed(times, 1) +
        " times the median of the checks before, beyond layers_growth = " +
        to_text(options_.layers_growth));
}

void LayerWatch::check(const Layer& layer, double of_network, double gradient_of_network,
                       const Say& say) {
  History& history = histories_[layer.tensor];
  history.dead = layer.gradient_norm == 0 ? history.dead + 1 : 0;
  if (history.dead == options_.layers_dead)  // once, not at every check from then on
    say("its gradient is 0 in " + counted(history.dead, "check") + " in a row");
  compare("the norm of its gradient", layer.gradient_norm, gradient_of_network, history.gradient,
          say);
  compare("the norm of its values", layer.norm, of_network, history.values, say);
}

void LayerWatch::check(const std::string& operation, float rms, float highest, const Say& say) {
  History& history = activations_[operation];
  history.dead = rms == 0 ? history.dead + 1 : 0;
  if (history.dead == options_.layers_dead)
    say("its activations are all 0 in " + counted(history.dead, "check") + " in a row");
  compare("the root mean square of its activations", rms, double{highest} * double{highest},
          history.values, say);
}

std::vector<std::string> LayerWatch::check(const Observation& seen) {
  std::map<std::string_view, Totals> totals;
  for (const Layer& layer : seen.layers) {
    Totals& total = totals[network_of(layer.tensor)];
    total.norm += double{layer.norm} * double{layer.norm};
    total.gradient += double{layer.gradient_norm} * double{layer.gradient_norm};
  }
  for (const auto& [operation, rms] : seen.activations) {
    float& highest = totals[network_of(operation)].activation;
    if (rms > highest) highest = rms;
  }
  std::vector<std::string> lines;
  const auto say_of = [&](const std::string& name) -> Say {
    return [&, name](const std::string& what) {
      lines.push_back("step " + std::to_string(seen.step.value) + ": layers: " + name + ": " +
                      what);
    };
  };
  for (const Layer& layer : seen.layers) {
    const Totals& total = totals.at(network_of(layer.tensor));
    check(layer, total.norm, total.gradient, say_of(layer.tensor));
  }
  for (const auto& [operation, rms] : seen.activations)
    check(operation, rms, totals.at(network_of(operation)).activation, say_of(operation));
  return lines;
}

}  // namespace lockstep::monitor
