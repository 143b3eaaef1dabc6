// The rows of a PNG as libpng gives them. Private to the readers of PNG.
#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/core/bytes.h"

namespace lockstep::data {

struct RawPng {
  std::int64_t width = 0, height = 0;
  std::int64_t samples = 0;        // of a pixel: 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha
  std::int64_t bits = 8;           // of a sample; 16: two bytes, the high one first
  std::vector<std::uint8_t> rows;  // [height][width][samples]
};

enum class PngForms {
  kPlain,  // 8-bit grey or RGB without transparency, of fewer than kMostPixels bytes of rows
  kAll     // all of PNG, with at most kMostDecoded bytes of rows: palettes and less than 8 bits are
           // expanded, a transparent colour becomes alpha
};

// Throws Error(kData) without a name: "PNG: …".
RawPng read_raw_png(ByteView png, PngForms forms);

}  // namespace lockstep::data
