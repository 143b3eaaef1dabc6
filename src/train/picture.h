// What a picture of samples is made of. Private.
#pragma once

#include "lockstep/data/png.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

// Of whom the samples [first, first+count) are: recipe, step, state.
data::Provenance provenance(const Training& training, const hash::Digest& state_root,
                            std::int64_t first, std::int64_t count);

// 2-D points [n][2], white on black.
data::Picture scatter(std::int64_t n, const float* points);

}  // namespace lockstep::train
