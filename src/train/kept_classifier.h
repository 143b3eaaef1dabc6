// Private: the classifier of a run's evaluations. The run keeps a copy of its checkpoint in its own
// folder, because the classifier's run may go on, and retire that checkpoint.
#pragma once

#include <optional>
#include <string>

#include "lockstep/train/run_folder.h"
#include "train/feature_network.h"

namespace lockstep::train {

struct FoundClassifier {
  TrainedClassifier network;
  std::string source;  // where it was found
  bool kept = false;   // that is in the run's folder
  std::string damage;  // else: what is wrong with the copy there, "" if there is none
};

// What lies at evaluation.features now. Errors: kUsage if that is no classifier that evaluates;
// kCorrupt.
TrainedClassifier classifier_at(const std::string& source);

// The one of evaluation.features_hash. Where `given` names a place, that of it; else the copy in
// the run's folder, which a rank need not see; else that of evaluation.features. Errors: kUsage for
// no such classifier, or one of another hash; kCorrupt for a copy that is not whole, or another's,
// where the recipe's place has none.
FoundClassifier find_classifier(FileSystem& fs, const RunFolder& folder,
                                const recipe::Evaluation& options, const std::string& given);

// Puts a copy into the folder. The caller holds its lock.
void keep(FileSystem& fs, const RunFolder& folder, const FoundClassifier& found);

// The hash by which the run that has begun in the folder evaluates with what was at `features` when
// it began. Nothing if there is no such run, or it names another place.
std::optional<std::string> hash_of_begun(FileSystem& fs, const RunFolder& folder,
                                         const std::string& features);

}  // namespace lockstep::train
