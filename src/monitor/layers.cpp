#include "monitor/layers.h"

#include <string_view>

#include "lockstep/core/counted.h"
#include "lockstep/core/finite.h"
#include "lockstep/core/text.h"
#include "monitor/robust_score.h"

namespace lockstep::monitor {
namespace {

constexpr double kShare = 0.1;  // of the network's norm, below which a tensor does not explode
constexpr std::size_t kHistory = 16, kFewest = 4;  // looks that a norm is compared with

// Of whole networks: squares of norms.
struct Totals {
  double norm = 0, gradient = 0;
};

// The tensor's network, the first part of its name.
std::string_view network_of(const Layer& layer) {
  return std::string_view(layer.tensor).substr(0, layer.tensor.find('/'));
}

}  // namespace

double LayerWatch::growth(std::deque<double>& last, float norm) const {
  double times = 0;
  if (last.size() >= kFewest) {
    const double usual = median({last.begin(), last.end()});
    if (usual > 0 && double{norm} > options_.layers_growth * usual) times = double{norm} / usual;
  }
  last.push_back(norm);
  if (last.size() > kHistory) last.pop_front();
  return options_.layers_growth > 0 ? times : 0;
}

std::vector<std::string> LayerWatch::look(Step step, std::span<const Layer> layers) {
  std::map<std::string_view, Totals> totals;
  for (const Layer& layer : layers) {
    Totals& total = totals[network_of(layer)];
    total.norm += double{layer.norm} * double{layer.norm};
    total.gradient += double{layer.gradient_norm} * double{layer.gradient_norm};
  }
  std::vector<std::string> lines;
  for (const Layer& layer : layers) {
    History& history = histories_[layer.tensor];
    const auto say = [&](const std::string& what) {
      lines.push_back("step " + std::to_string(step.value) + ": layers: " + layer.tensor + ": " +
                      what);
    };
    history.dead = layer.gradient_norm == 0 ? history.dead + 1 : 0;
    if (history.dead == options_.layers_dead)  // once, not at every look from then on
      say("its gradient is 0 at " + counted(history.dead, "look") + " in a row");
    const auto compare = [&](const std::string& what, float norm, double total,
                             std::deque<double>& last) {
      if (!is_finite(norm)) return say("the norm of its " + what + " is not finite");
      const double times = growth(last, norm);
      // What begins at nearly 0 grows by any factor, and explodes nothing.
      const bool large = double{norm} * double{norm} >= kShare * kShare * total;
      if (times > 0 && large)
        say("the norm of its " + what + " is " + to_text(norm) + ", " + fixed(times, 1) +
            " times the median of the looks before, beyond layers_growth = " +
            to_text(options_.layers_growth));
    };
    const Totals& total = totals.at(network_of(layer));
    compare("gradient", layer.gradient_norm, total.gradient, history.gradient);
    compare("values", layer.norm, total.norm, history.values);
  }
  return lines;
}

}  // namespace lockstep::monitor
