// Many images in one picture: rows of `columns`, first image top left, 2 black pixels between
// images and around them; missing images of the last row are black. Fewer images than columns: as
// many columns as images.
#pragma once

#include <cstdint>

#include "lockstep/data/png.h"

namespace lockstep::data {

// Whether such a grid is a picture that write_png takes.
bool grid_fits(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c,
               std::int64_t columns);

// images: [n][h][w][c], c 1 or 3, n >= 1, columns >= 1.
Picture grid(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c,
             const std::uint8_t* images, std::int64_t columns);

// The same from samples in [-1, 1], through numerics::to_bytes.
Picture grid(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c, const float* images,
             std::int64_t columns);

}  // namespace lockstep::data
