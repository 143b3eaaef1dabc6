// How good a run is, or what pictures another program made: distances between samples and data, in
// the features of a classifier that a recipe trained; of a classifier, its accuracy.
// docs/evaluation.md defines every number.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/core/ids.h"
#include "lockstep/evaluation/distances.h"
#include "lockstep/hash/sha256.h"

namespace lockstep::train {

inline constexpr std::int64_t kEvaluated = 2048;  // samples of each side, unless asked otherwise

struct EvaluateOptions {
  // A run, RUN or RUN@STEP (train/open_run.h), or a checkpoint file; or pictures of any program:
  // NAME.npz or NAME.npy, bytes [n][h][w][c] or [n][h][w], or a pack.
  std::string source;
  // A run or checkpoint likewise, of a classifier; or a TorchScript file, NAME.pt; empty for the
  // accuracy of a classifier.
  std::string features;
  // The SHA-256 that the network of features must have, hexadecimal, whole or its beginning; empty:
  // any.
  std::string features_hash;
  // Of each side. Without: kEvaluated, and no more than a file has pictures; for an accuracy all
  // that the data have.
  std::optional<std::int64_t> samples = {};
  std::int64_t seed = 0;  // key of the draws: which of the data, and where samples start
  // Where the data lie, or others of their shape; empty: the recipe's. Needed for pictures of a
  // file; the data are then read as the classifier's recipe reads its own.
  std::string data;
  std::function<void(double done, std::int64_t total)> progress = {};
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

// By their keys in JSON and ledgers, in order: "frechet_distance", "kernel_distance", "precision",
// "recall", "density", "coverage".
std::vector<std::pair<std::string, double>> values_of(const Distances& distances);

struct EvaluatedRun {
  Step step;
  hash::Digest recipe, state;
};

struct Accuracy {
  std::int64_t right = 0, samples = 0;  // classified rightly, of so many
};

struct Evaluation {
  std::optional<EvaluatedRun> run = {};
  std::optional<hash::Digest> pictures = {};  // else: SHA-256 of the file that has them
  hash::Digest data;
  std::int64_t samples = 0, seed = 0;
  // false: samples of native numerics, or features of TorchScript: values of this machine.
  bool portable = true;
  std::optional<Distances> distances = {};  // of what makes samples
  std::int64_t right = 0;                   // of a classifier: samples that it classifies rightly
  std::optional<Accuracy> held_out = {};    // the same of those that its training kept back
};

// Errors: kUsage for sides that do not fit together (shapes, too few samples) and another hash,
// kData, also for a file that holds no pictures, kCorrupt, kDiverged for features that are not
// finite. Bits: state, data, the classifier's state, samples, seed; no machine, where the result is
// portable.
Evaluation evaluate(const EvaluateOptions& options);

}  // namespace lockstep::train
