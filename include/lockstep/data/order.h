// In which order samples are drawn: epoch after epoch, each a keyed permutation of all samples that
// can be evaluated at any place. So the data cursor is one integer, and any rank finds its samples.
//
// Permutation of [0, n) for (key, epoch), order version 1:
//   n = 1: the identity. Otherwise bits = max(2, ceil(log2 n)), low = (bits + 1) / 2, high = bits -
//   low; x = H * 2^low + L. Eight rounds r = 0..7:
//     r even: H ^= F(r, L) mod 2^high        r odd: L ^= F(r, H) mod 2^low
//     F(r, v) = word 0 of philox(key, (v, epoch low word, epoch high word, r))
//   Each round can be undone, so this permutes [0, 2^bits); while the result is >= n it is fed
//   through again (cycle walking; fewer than two passes on average), which leaves a permutation of
//   [0, n).
#pragma once

#include <cstdint>

#include "lockstep/core/ids.h"
#include "lockstep/numerics/philox.h"

namespace lockstep::data {

// Element `index` of the permutation. LOCKSTEP_ASSERTs 1 <= n <= 2^62, 0 <= index < n.
std::int64_t permute(numerics::PhiloxKey key, std::uint64_t epoch, std::int64_t n,
                     std::int64_t index);

// Which samples of n are held out: the first `count` elements of the permutation for epoch 0. The
// others are trained. Bits: key, n, count.
class Holdout {
 public:
  // `stream` is conventionally stream(run.seed, "data/holdout"); only its key is used.
  // LOCKSTEP_ASSERTs 0 <= count < n.
  Holdout(const numerics::Stream& stream, std::int64_t n, std::int64_t count);

  std::int64_t count() const { return count_; }
  std::int64_t trained() const { return n_ - count_; }  // how many
  Sample held_out(std::int64_t i) const;                // 0 <= i < count()
  // 0 <= i < trained(). Without held-out samples it is sample i.
  Sample trained(std::int64_t i) const;

 private:
  numerics::PhiloxKey key_;
  std::int64_t n_, count_;
};

// The endless stream of draws over n samples: draw d is element d % n of epoch d / n. Nothing is
// dropped: a batch may straddle two epochs. With held-out samples n is the number of the others,
// and an element is one of them. Bits: key, n, held-out samples, draw.
class Order {
 public:
  // `stream` is conventionally stream(run.seed, "data/order"); only its key is used.
  Order(const numerics::Stream& stream, std::int64_t n);
  Order(const numerics::Stream& stream, const Holdout& holdout);

  Sample sample_at(Draw draw) const;  // draw >= 0

 private:
  numerics::PhiloxKey key_;
  std::int64_t n_;
  Holdout holdout_;
};

}  // namespace lockstep::data
