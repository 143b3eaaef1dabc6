// Options of the networks. `kind` picks a line of the table in model/network.h; fields of other
// kinds are refused by the recipe. All of them change bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/core/fields.h"

namespace lockstep::model {

struct Options {
  std::string kind = "unet";  // a line of the table in network.cpp

  // unet, dcgan-*, sngan-*: per resolution level, finest first. Each level of unet and sngan-* has
  // half the sides of the one before; dcgan-*'s first has half the picture's.
  std::vector<std::int64_t> channels = {32, 64, 64};

  // unet
  std::int64_t blocks = 2;  // residual blocks a level on the way down (one more up)
  std::vector<std::int64_t> attention_levels = {2};  // levels with attention, counted from 0
  std::int64_t heads = 4;
  std::int64_t groups = 8;       // of group normalisation; divides every channel count
  std::int64_t embedding = 128;  // width of the time embedding

  // mlp-*
  std::int64_t hidden = 64;
  std::int64_t layers = 2;  // hidden layers

  // *-generator
  std::int64_t latent = 2;  // width of its input

  // mlp-generator
  std::string norm = "batch";  // none: no layer mixes samples
};
void describe(Fields& fields, Options& options);

}  // namespace lockstep::model
