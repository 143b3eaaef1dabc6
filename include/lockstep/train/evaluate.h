// How good a run is: distances between its samples and its data, in the features of a classifier
// that a recipe trained; of a classifier, its accuracy. docs/evaluation.md defines every number.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "lockstep/core/ids.h"
#include "lockstep/evaluation/distances.h"
#include "lockstep/hash/sha256.h"

namespace lockstep::train {

inline constexpr std::int64_t kEvaluated = 2048;  // samples of each side, unless asked otherwise

struct EvaluateOptions {
  std::string source;  // a run, RUN or RUN@STEP (train/open_run.h), or a checkpoint file
  // Likewise, of a classifier; or a TorchScript file, NAME.pt; empty for the accuracy of a
  // classifier.
  std::string features;
  // The SHA-256 that the network of features must have, hexadecimal, whole or its beginning; empty:
  // any.
  std::string features_hash;
  // Of each side. Without: kEvaluated; for an accuracy all that the data have.
  std::optional<std::int64_t> samples = {};
  std::int64_t seed = 0;  // key of the draws: which of the data, and where samples start
  std::string data;       // where the data lie, or others of their shape; empty: the recipe's
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};
};

// The network whose features are compared.
struct FeaturesOf {
  std::string network;       // "lockstep classifier", "TorchScript"
  hash::Digest hash;         // of recipe id and state (docs/evaluation.md); of the file
  std::optional<Step> step;  // of a classifier
  std::int64_t width = 0;
};

struct Distances {
  FeaturesOf features;
  double frechet = 0, kernel = 0;
  evaluation::Neighbourhoods neighbourhoods;
};

struct Evaluation {
  Step step;
  hash::Digest recipe, state, data;  // what was evaluated, and with which samples
  std::int64_t samples = 0, seed = 0;
  // false: samples of native numerics, or features of TorchScript: values of this machine.
  bool portable = true;
  std::optional<Distances> distances = {};  // of what makes samples
  std::int64_t right = 0;                   // of a classifier: samples that it classifies rightly
};

// Errors: kUsage for sides that do not fit together (shapes, too few samples) and another hash,
// kData, kCorrupt, kDiverged for features that are not finite. Bits: state, data, the classifier's
// state, samples, seed; no machine, where the result is portable.
Evaluation evaluate(const EvaluateOptions& options);

}  // namespace lockstep::train
