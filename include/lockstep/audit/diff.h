// What differs between two things of the same kind: runs, ledgers, checkpoints, pictures, recipes,
// fingerprints. Reads both, trains nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/ledger/ledger.h"
#include "lockstep/state/compare.h"

namespace lockstep::audit {

// Something that both say; "" where one does not.
struct FactDifference {
  std::string name, a, b;
  bool bits = false;  // may change bits: a recipe's field that does; any fact of a machine
};

// In the order of `a`, then what only `b` has; all with `bits`.
using Facts = std::vector<std::pair<std::string, std::string>>;
std::vector<FactDifference> differences(const Facts& a, const Facts& b);

struct PictureDifference {
  std::int64_t pixels = 0, different = 0;  // values of channels
  int largest = 0;                         // of 255
};

struct DiffResult {
  std::string kind;                    // "runs", "ledgers", "checkpoints", …
  std::vector<FactDifference> recipe;  // keys
  std::vector<FactDifference> environment;
  std::vector<FactDifference> headings;  // what else the files say of themselves: step, data, …
  std::int64_t steps = 0;                // that both ledgers have
  std::optional<ledger::Difference> ledger;
  // Of ledgers that are not of one run, which differ in every digest: the first step with other
  // losses.
  std::optional<Step> losses;
  // Tensors in the order in which checkpoints that both have show a difference, then in the
  // state's.
  struct Tensor {
    Step step;
    state::TensorDifference difference;
  };
  std::vector<Tensor> tensors;
  std::int64_t tensors_compared = 0;
  std::vector<Step> checkpoints;  // at which both were compared
  std::optional<PictureDifference> picture;

  // Nothing that is evidence differs: an environment or a recipe's path may.
  bool same() const;
};

// Throws Error(kCannotCompare) if the two are not of one kind or cannot be read.
// RUN@STEP is a checkpoint of that run.
DiffResult diff(const std::string& a, const std::string& b);

}  // namespace lockstep::audit
