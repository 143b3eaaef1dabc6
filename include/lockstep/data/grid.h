// Many images in one picture, first image top left, 2 black pixels between images and around them.
#pragma once

#include <cstdint>

#include "lockstep/data/png.h"

namespace lockstep::data {

inline constexpr std::int64_t kMostColumns = 4096;

// Where images stand: bands of `rows` rows, filled column by column, each with `columns` columns or
// as many as the images need. A usual grid has bands of one row. Where image i has the class
// i mod rows, a row is a class. Missing images are black.
struct GridLayout {
  std::int64_t columns = 1, rows = 1;
};

// Whether such a grid is a picture that write_png takes.
bool grid_fits(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c, GridLayout layout);

// images: [n][h][w][c], c 1 or 3, n, columns and rows >= 1.
Picture grid(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c,
             const std::uint8_t* images, GridLayout layout);

// The same from samples in [-1, 1], through numerics::to_bytes.
Picture grid(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c, const float* images,
             GridLayout layout);

}  // namespace lockstep::data
