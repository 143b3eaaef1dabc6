// Evaluation while a run trains: the distances of docs/evaluation.md at an interval, in the ledger.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "lockstep/comm/group.h"
#include "lockstep/core/file_system.h"
#include "lockstep/data/dataset.h"
#include "lockstep/ledger/format.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

// With the hash of the classifier at evaluation.features, where the recipe evaluates and names none
// yet. A run that has begun in `folder` with that place keeps its own hash, whatever lies there
// now; "": there is no folder. Errors: as the constructor below.
recipe::Recipe with_features_hash(recipe::Recipe recipe, const std::filesystem::path& folder);

// How a copy in a run's `features` is not the classifier that the recipe names, in words; nothing
// if it is. Error(kCorrupt) if it is damaged.
std::optional<std::string> not_the_classifier(FileSystem& fs, const std::filesystem::path& file,
                                              const recipe::Recipe& recipe);

class IntervalEvaluation {
 public:
  // Opens the classifier that the recipe names: the copy in the run's folder, else where the recipe
  // says; `features`: where it lies, if in neither. `data` must outlive this. Errors: kUsage for no
  // such classifier, one of another hash or of other pictures, or a number of samples that its
  // features or the data do not allow; kCorrupt, for a damaged copy where nothing replaces it.
  IntervalEvaluation(const recipe::Recipe& recipe, const data::Dataset& data,
                     const std::filesystem::path& folder, const std::string& features = "");
  ~IntervalEvaluation();

  // Puts a copy of the classifier into the run's folder, unless a whole one is there: its own run
  // may go on. The caller holds the folder's lock.
  void keep() const;
  std::int64_t classifier_bytes() const;  // of its state

  // Of the training's state: the values of `lockstep eval` of its checkpoint, by their keys there.
  // Ranks divide the samples in portions, each at its own time (comm/own_time.h). Error(kPreempted)
  // before the next pass of a network once a signal asks for an end. Changes nothing. Collective:
  // yes. Bits: state, recipe, data, the classifier's state; not the world size.
  ledger::Named<double> operator()(Training& training, comm::Group& group);

 private:
  struct Held;
  std::unique_ptr<Held> held_;
};

// The keys of its values, in the ledger's order.
const std::vector<std::string>& evaluation_keys();

}  // namespace lockstep::train
