// Evaluation while a run trains: the distances of docs/evaluation.md at an interval, in the ledger.
#pragma once

#include <memory>
#include <string>

#include "lockstep/comm/group.h"
#include "lockstep/data/dataset.h"
#include "lockstep/ledger/format.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

// With the hash of the classifier at evaluation.features, where the recipe evaluates and names none
// yet. Errors: as the constructor below.
recipe::Recipe with_features_hash(recipe::Recipe recipe);

class IntervalEvaluation {
 public:
  // Opens the classifier that the recipe names; `features`: where it lies, if not there. `data`
  // must outlive this. Errors: kUsage for no such classifier, one of another hash or of other
  // pictures, or a number of samples that its features or the data do not allow; kCorrupt.
  IntervalEvaluation(const recipe::Recipe& recipe, const data::Dataset& data,
                     const std::string& features = "");
  ~IntervalEvaluation();

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
