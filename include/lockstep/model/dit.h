// Options of the diffusion transformer (Peebles & Xie 2023).
#pragma once

#include "lockstep/model/fields.h"

namespace lockstep::model {

struct DitOptions {
  std::int64_t patch = 2;        // pixels of a patch's side; divides the picture's sides
  std::int64_t width = 128;      // of a token; a multiple of 4 and of heads
  std::int64_t depth = 6;        // blocks
  std::int64_t heads = 4;        // of attention
  std::int64_t mlp_ratio = 4;    // width of a block's hidden layer, in widths
  std::int64_t embedding = 128;  // width of the time embedding
};
inline void describe(Fields& f, DitOptions& o) {
  f.field("patch", o.patch, 1, 256, Effect::kBits,
          "pixels of a patch's side; divides the picture's sides");
  f.field("width", o.width, 4, kWidest, Effect::kBits,
          "width of a patch's token; a multiple of 4 and of heads");
  f.field("depth", o.depth, 1, 256, Effect::kBits, "transformer blocks");
  f.field("heads", o.heads, 1, kWidest, Effect::kBits, "attention heads; divides the width");
  f.field("mlp_ratio", o.mlp_ratio, 1, 16, Effect::kBits,
          "width of a block's hidden layer, as a multiple of the width");
  f.field("embedding", o.embedding, 1, kWidest, Effect::kBits, "width of the time embedding");
}

}  // namespace lockstep::model
