// Monitors look at what training does and return a verdict; `train` acts on it. They change
// nothing, and see only what is the same on every rank, so all ranks come to the same verdict.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/core/ids.h"
#include "lockstep/monitor/options.h"

namespace lockstep::monitor {

// A tensor of a network's parameters: L2 norms of its values, after the step, and of its gradient,
// after clip_value and before clip_norm.
struct Layer {
  std::string tensor;  // "generator/param/blocks.0.weight"
  float norm = 0, gradient_norm = 0;
};

// What a step left, as every rank has it.
struct Observation {
  Step step;
  std::span<const std::pair<std::string, float>> losses;               // by network
  std::span<const std::pair<std::string, float>> gradient_norms = {};  // likewise, not clipped
  // On a check (`due`), otherwise empty: samples, one after the other, and the objective's counts
  // of the step's samples by name; of a discriminator "judged" and "judged rightly", of a
  // classifier "classified" and "classified rightly".
  std::span<const float> samples;
  std::vector<std::pair<std::string, std::int64_t>> counts = {};
  // On a check of layers (`layers_due`), otherwise empty. Activations: by operation of a network,
  // "generator/norm0/leaky_relu", the root mean square of what it gave in the step.
  std::span<const Layer> layers = {};
  std::span<const std::pair<std::string, float>> activations = {};
};

enum class Verdict { kFine, kWarn, kStop };

struct Report {
  Verdict verdict = Verdict::kFine;  // the gravest
  std::vector<std::string> lines;    // one a monitor that is not fine: monitor, value, limit, step
  std::vector<std::pair<std::string, float>> values;  // measured on a check, for metrics
  std::vector<Layer> layers;                          // of a check of layers, as the next
  std::vector<std::pair<std::string, float>> activations;
};

class LayerWatch;
class RobustScore;

class Monitor {
 public:
  explicit Monitor(const Options& options);
  ~Monitor();
  // Whether `step` is checked: samples and counts are wanted.
  bool due(Step step) const;
  bool layers_due(Step step) const;
  // Once after each step. Bits: the observation, and the losses and norms of the steps before.
  Report observe(const Observation& observation);

 private:
  void diverges(const Observation& observation, Report& report);
  void spikes(const Observation& observation, Report& report);

  Options options_;
  std::map<std::string, std::int64_t> diverging_, spiking_;     // by network: its steps in a row
  std::map<std::string, std::unique_ptr<RobustScore>> scores_;  // by what is watched
  std::unique_ptr<LayerWatch> layers_;
};

// What is odd in a labelled data set, one line each: a class without samples, and classes whose
// numbers of samples differ by more than warn_imbalance. counts: samples by class.
std::vector<std::string> imbalance(const Options& options, std::span<const std::int64_t> counts);

// Mean over all pairs of the root mean square of the differences of two samples' values. All
// binary32 and in order of the pairs (0,1), (0,2), … Bits: samples. count >= 2 samples of the same
// length.
float pairwise_distance(std::span<const float> samples, std::int64_t count);

}  // namespace lockstep::monitor
