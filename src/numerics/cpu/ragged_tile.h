// Private: the edge of a tile whose columns do not fill its vectors, for floats and for integers.
#pragma once

namespace lockstep::numerics {

// function(tile) through whole vectors of our own: `width` columns, of which t.columns are used.
// The most rows, results and columns: kRows, kResults, kWidth.
template <int kRows, int kResults, int kWidth, class Tile>
void through_whole_vectors(const Tile& t, int width, void (*function)(const Tile&)) {
  float sums[kResults] = {}, bias[kWidth] = {};
  float* rows[kRows] = {};
  Tile whole = t;
  for (int r = 0; r < t.rows; ++r) {
    rows[r] = sums + r * width;
    for (int j = 0; t.add && j < t.columns; ++j) rows[r][j] = t.c[r][j];
  }
  for (int j = 0; t.bias != nullptr && j < t.columns; ++j) bias[j] = t.bias[j];
  whole.c = rows;
  whole.bias = t.bias == nullptr ? nullptr : bias;
  function(whole);
  for (int r = 0; r < t.rows; ++r) {
    for (int j = 0; j < t.columns; ++j) t.c[r][j] = rows[r][j];
  }
}

}  // namespace lockstep::numerics
