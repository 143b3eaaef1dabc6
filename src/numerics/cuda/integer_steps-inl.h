// Private: a block's steps of k on their way to shared memory, of both operands together: those of
// one product after the other, if there are several in turn. Behind the last one steps are zeros,
// so that no branch stands between the products of a main loop and its copies.
#pragma once

#include "numerics/cuda/integer_stage-inl.h"

namespace lockstep::numerics::cuda {

template <class Left, class Right, class Tile, bool kWide, bool kInTurn>
class Steps {
  using Lefts = Stage<Left, Tile::kRows, Tile::kThreads, kWide>;
  using Rights = Stage<Right, Tile::kColumns, Tile::kThreads, kWide>;
  static constexpr int kCopies = Lefts::kCopies + Rights::kCopies;

 public:
  // Of `products`, each of `steps`.
  LOCKSTEP_DEVICE Steps(const Lefts& left, const Rights& right, std::int32_t steps,
                        std::int32_t products)
      : left_(left),
        right_(right),
        steps_(steps),
        steps_left_(steps),
        products_left_(products - 1) {}

  // Copies part `part` of `parts` of a step, then goes on to the next one with the last part.
  template <class Thread>
  LOCKSTEP_DEVICE void copy(Thread& t, std::int16_t* stage, int part, int parts) {
    LOCKSTEP_UNROLL
    for (int i = 0; i < kCopies; ++i) {
      if (i * parts / kCopies != part) continue;
      if (i < Lefts::kCopies)
        left_.copy(t, stage, i);
      else
        right_.copy(t, stage + Tile::kRows * kDepth, i - Lefts::kCopies);
    }
    if (part + 1 == parts) {
      t.commit();
      next();
    }
  }

 private:
  LOCKSTEP_DEVICE void next() {
    left_.next();
    right_.next();
    if constexpr (kInTurn) {
      const bool over = --steps_left_ == 0 && products_left_ > 0;
      steps_left_ = over ? steps_ : steps_left_;
      products_left_ = over ? products_left_ - 1 : products_left_;
      left_.next_product(over);
      right_.next_product(over);
    }
  }

  Lefts left_;
  Rights right_;
  std::int32_t steps_, steps_left_, products_left_;  // to copy
};

}  // namespace lockstep::numerics::cuda
