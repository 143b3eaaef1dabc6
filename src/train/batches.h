// The rank's part of each global batch, as the objective takes it.
#pragma once

#include "lockstep/data/prefetch.h"
#include "lockstep/objective/objective.h"
#include "lockstep/recipe/recipe.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

class Batches {
 public:
  // `dataset` must outlive this.
  Batches(const data::Dataset& dataset, const recipe::Recipe& recipe, const lane::Plan& plan,
          Rank rank);
  // The batch of draws [samples, samples + plan.batch()): this rank's lanes of it. Bits: data,
  // seed, samples.
  objective::Batch at(std::int64_t samples);

 private:
  std::vector<std::int64_t> sizes_;  // [N, ...sample shape]
  std::int64_t offset_;              // of the rank's first sample in the batch
  data::Prefetch prefetch_;
};

}  // namespace lockstep::train
