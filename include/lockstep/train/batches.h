// The objective's samples, read ahead for this rank's part of each global batch, and on their way
// to the device while the step before computes.
#pragma once

#include <optional>

#include "lockstep/data/batch.h"
#include "lockstep/data/prefetch.h"
#include "lockstep/objective/objective.h"
#include "lockstep/ops/transfer.h"
#include "lockstep/recipe/recipe.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

// Which samples training keeps back. Bits: how many samples there are, seed, data.holdout.
data::Holdout holdout_of(const recipe::Recipe& recipe, const data::Dataset& dataset);
// Of these [first, first + count), as they are, without augmentation; their numbers stand for
// draws.
data::Batch held_out(const data::Dataset& dataset, const data::Holdout& holdout, std::int64_t first,
                     std::int64_t count);

class Batches {
 public:
  // For this thread's device. `dataset` must outlive this.
  Batches(const data::Dataset& dataset, const recipe::Recipe& recipe, const lane::Plan& plan,
          Rank rank);
  // Draws [first, first + count). Bits: data, its augmentation, seed, first,
  // count.
  objective::Batch operator()(Draw first, std::int64_t count);
  // Held-out samples [first, first + count). Bits: data, seed, data.holdout, first, count.
  objective::Batch held_out(std::int64_t first, std::int64_t count) const;

 private:
  struct OnItsWay {
    Draw first;
    ops::Upload values;
    std::optional<ops::Upload> condition;  // none without classes

    objective::Batch arrived();
  };
  OnItsWay send(const data::Batch& batch) const;

  const data::Dataset& dataset_;
  data::Holdout holdout_;
  data::Order order_;
  data::Augment augment_;
  at::Device place_;
  std::int64_t stride_, offset_,
      count_;  // of what is read ahead: offset_ + n stride_, count_ draws
  data::Prefetch<OnItsWay> prefetch_;
};

}  // namespace lockstep::train
