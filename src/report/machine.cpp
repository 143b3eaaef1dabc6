// What the networks' layers and the ranks' machines showed while the run trained.

#include "lockstep/core/text.h"
#include "report/sections.h"

namespace lockstep::report {

Html activations(const Facts& facts) {
  std::vector<Row> rows;
  for (const auto& [operation, seen] : facts.metrics.activations)
    rows.push_back({{code(shortened(operation, 120)), text(brief(seen.first)),
                     text(brief(seen.last)), text(brief(seen.highest))},
                    !(seen.last > 0)});
  return paragraph(
             "What each operation of the networks gave at these looks: the root mean square over "
             "all samples of a step, in the order of a forward pass. In red: only zeros, or a "
             "value that is not finite.") +
         table({"Activations", "First look", "Last look", "Highest"}, rows, 400);
}

Html layers(const Facts& facts) {
  std::vector<Row> rows;
  for (const auto& [tensor, layer] : facts.metrics.layers) {
    const bool wrong = !(layer.gradient_last > 0) || layer.norm_last != layer.norm_last;
    rows.push_back(
        {{code(shortened(tensor, 120)), text(brief(layer.norm_first)), text(brief(layer.norm_last)),
          text(brief(layer.gradient_last)), text(brief(layer.gradient_highest))},
         wrong});
  }
  return paragraph(
             "L2 norms of each tensor and of its gradient, as the looks at layers of the last "
             "attempt saw them ([monitor], layers_every). In red: no gradient, or a value "
             "that is not finite.") +
         table({"Tensor", "Norm, first look", "Last look", "Gradient, last look", "Highest"}, rows,
               400) +
         (facts.metrics.activations.empty() ? Html() : activations(facts));
}

Html ranks(const Facts& facts) {
  const auto& all = facts.metrics.ranks;
  std::vector<Row> rows;
  std::size_t slowest = 0;
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r].rate < all[slowest].rate) slowest = r;
    rows.push_back({{text(std::to_string(r)), text(fixed(all[r].samples, 0)),
                     text(human_seconds(all[r].computing)), text(human_seconds(all[r].waiting)),
                     text(fixed(all[r].rate, 1)), text(human_bytes(all[r].peak_bytes))}});
  }
  const std::string slow = all.size() > 1 ? "The slowest is rank " + std::to_string(slowest) +
                                                ": the others wait for it. "
                                          : "";
  return paragraph(slow +
                   "Of the last attempt; facts of machines, no evidence. Waiting is the time "
                   "in exchanges. Samples a second count the time of computing alone.") +
         table({"Rank", "Samples", "Computing", "Waiting", "Samples/s", "Peak memory"}, rows);
}

}  // namespace lockstep::report
