// Pictures moved and mirrored at random, each time that they are drawn. Values are moved, never
// computed. docs/training.md, *Data*, has the rule.
#pragma once

#include <cstdint>

#include "lockstep/core/ids.h"
#include "lockstep/numerics/philox.h"

namespace lockstep::data {

struct Options;
class Dataset;

// Throws Error(kUsage) for flip and crop of points, and for a crop that is not smaller than the
// pictures' sides.
void require_augmentable(const Options& options, const Dataset& dataset);

class Augment {
 public:
  // None.
  Augment() = default;
  // As the options say, at random by stream(seed, "data/augment"). Throws as require_augmentable.
  Augment(const Options& options, const Dataset& dataset, std::uint64_t seed);

  // Changes the sample_values() floats of a draw's sample in place. Bits: seed, options, draw.
  void apply(Draw draw, float* sample) const;

 private:
  bool flip_ = false;
  std::int64_t crop_ = 0;
  std::int64_t height_ = 0, width_ = 0, channels_ = 0;
  numerics::Stream stream_{};
};

}  // namespace lockstep::data
