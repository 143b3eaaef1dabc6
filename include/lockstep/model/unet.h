// Options of the U-Net for diffusion (Ronneberger et al. 2015; Ho et al. 2020).
#pragma once

#include "lockstep/model/fields.h"

namespace lockstep::model {

struct UNetOptions {
  // Per resolution level, finest first; each has half the sides of the one before.
  std::vector<std::int64_t> channels = {32, 64, 64};
  std::int64_t blocks = 2;  // residual blocks a level on the way down (one more up)
  std::vector<std::int64_t> attention_levels = {2};  // levels with attention, counted from 0
  std::int64_t heads = 4;
  std::int64_t groups = 8;       // of group normalisation; divides every channel count
  std::int64_t embedding = 128;  // width of the time embedding
  double dropout = 0;            // before the second convolution of a residual block, in training
};
inline void describe(Fields& f, UNetOptions& o) {
  describe_channels(f, o.channels);
  f.field("blocks", o.blocks, 1, 64, Effect::kBits,
          "residual blocks a level on the way down; one more on the way up");
  f.field("attention_levels", o.attention_levels, 0, 63, Effect::kBits,
          "levels with attention, counted from 0");
  f.field("heads", o.heads, 1, kWidest, Effect::kBits, "attention heads; divides the channels");
  f.field("groups", o.groups, 1, kWidest, Effect::kBits, "groups of group normalisation");
  f.field("embedding", o.embedding, 1, kWidest, Effect::kBits, "width of the time embedding");
  f.field(
      "dropout", o.dropout, 0.0, 0.99, bits_unless(o.dropout, 0.0),
      "probability that a value before a residual block's second convolution is 0, in training");
}

}  // namespace lockstep::model
