// The objective's samples, read ahead for this rank's part of each global batch.
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
  // Draws [first, first + count). Bits: data, its augmentation, seed, first,
  // count.
  objective::Batch operator()(Draw first, std::int64_t count);
  // Held-out samples [first, first + count), as they are, without augmentation; their numbers stand
  // for draws. Bits: data, seed, data.holdout, first, count.
  objective::Batch held_out(std::int64_t first, std::int64_t count) const;

 private:
  objective::Batch batch_of(const data::Batch& batch) const;

  const data::Dataset& dataset_;
  data::Holdout holdout_;
  data::Order order_;
  data::Augment augment_;
  std::int64_t stride_, offset_,
      count_;  // of what is read ahead: offset_ + n stride_, count_ draws
  data::Prefetch prefetch_;
};

}  // namespace lockstep::train
