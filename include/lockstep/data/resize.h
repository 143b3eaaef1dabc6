// Pictures in another size or with other channels, in whole numbers alone: the same bits
// everywhere. docs/data.md, "How pictures are resized", has the formulas.
#pragma once

#include <cstdint>

#include "lockstep/data/png.h"

namespace lockstep::data {

inline constexpr std::int64_t kMostResized = 8192;  // pixels a side

struct PictureSize {
  std::int64_t width = 0, height = 0;  // 1 to kMostResized
};

// The middle of the picture, as large as the proportions of `size` allow, in that size. Shrinking
// takes the mean of the area under each new pixel, growing the bilinear value at its centre; each
// is an exact fraction, rounded once (halves up). A picture of that size stays as it is.
// LOCKSTEP_ASSERTs the ranges. Bits: the arguments.
Picture resized(const Picture& picture, const PictureSize& size);

// 3 to 1: (19595 R + 38470 G + 7471 B + 32768) / 65536, rounded down (ITU-R BT.601). 1 to 3: three
// times the same. Bits: the arguments.
Picture with_channels(Picture picture, std::int64_t channels);

}  // namespace lockstep::data
