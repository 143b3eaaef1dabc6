#include "monitor/layers.h"

#include "lockstep/core/counted.h"
#include "lockstep/core/text.h"
#include "monitor/robust_score.h"

namespace lockstep::monitor {
namespace {

constexpr std::size_t kHistory = 16, kFewest = 4;  // looks that a norm is compared with

bool finite(float norm) {
  return norm - norm == 0;
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
    const auto compare = [&](const std::string& what, float norm, std::deque<double>& last) {
      if (!finite(norm)) return say("the norm of its " + what + " is not finite");
      const double times = growth(last, norm);
      if (times > 0)
        say("the norm of its " + what + " is " + to_text(norm) + ", " + fixed(times, 1) +
            " times the median of the looks before, beyond layers_growth = " +
            to_text(options_.layers_growth));
    };
    compare("gradient", layer.gradient_norm, history.gradient);
    compare("values", layer.norm, history.values);
  }
  return lines;
}

}  // namespace lockstep::monitor
