// Private: how a float product for CUDA is cut into blocks of a grid: which tile, and whether the
// blocks of its chains are computed side by side. No bit depends on it.
#pragma once

#include <algorithm>

#include "numerics/cuda/chains-inl.h"
#include "numerics/cuda/divisor.h"
#include "numerics/cuda/float_tile-inl.h"

namespace lockstep::numerics::cuda {

// A row of results, and what becomes of a sum in it.
struct BiasedRow {
  float* to;
  const float* bias;
  LOCKSTEP_DEVICE float operator()(int j, float sum) const {
    return bias == nullptr ? sum : sum + bias[j];
  }
};

// data[batch.of(z) + i * row + j], plus bias[j].
struct BiasedRows {
  float* data;
  Matrices<std::int64_t> batch;
  std::int64_t row_step;
  const float* bias;
  bool in_quads() const { return in_fours(data, {batch.step, batch.outer, row_step}); }
  LOCKSTEP_DEVICE BiasedRow row(int z, int i) const {
    return BiasedRow{data + batch.of(z) + i * row_step, bias};
  }
};

enum class TileKind { k128x128, k128x64, k64x64, k128x32, k32x32 };

struct Cut {
  TileKind tile = TileKind::k128x128;
  int parts = 1;    // the blocks of a chain
  int at_once = 0;  // of them side by side; 0: one after another
};

// What tiles cost a multiprocessor: the sums of a thread, one after another, each by its weight.
// The weight grows as a tile's sides shrink, because each sum needs more of its operands read.
struct TileCost {
  TileKind kind;
  std::int64_t rows, columns, warps, sums, weight;

  // Of some tiles in one multiprocessor, where four warps work side by side.
  std::int64_t of(std::int64_t tiles) const { return (tiles * warps + 3) / 4 * sums * weight; }
  // Tiles that fill a GPU: eight warps a multiprocessor.
  std::int64_t full(int multiprocessors) const { return 8 / warps * multiprocessors; }
};

// Memory for sums of blocks side by side that is worth fewer idle multiprocessors.
constexpr std::int64_t kSumsBeside = std::int64_t{64} << 20;
template <int kRows, int kColumns>
constexpr TileCost cost_of(TileKind kind, std::int64_t weight) {
  using Shape = Tile<kRows, kColumns>;
  return {kind,  kRows, kColumns, Shape::kThreads / kWarp, kRows * kColumns / Shape::kThreads,
          weight};
}

// Of a product that has results: the fastest cut. `multiprocessors` work side by side.
inline Cut cut_of(const FloatShape& s, int multiprocessors) {
  constexpr TileCost kTiles[] = {
      cost_of<128, 128>(TileKind::k128x128, 8), cost_of<128, 64>(TileKind::k128x64, 9),
      cost_of<64, 64>(TileKind::k64x64, 10), cost_of<128, 32>(TileKind::k128x32, 11),
      cost_of<32, 32>(TileKind::k32x32, 22)};
  Cut cut;
  cut.parts = static_cast<int>((s.depth + kBlock - 1) / kBlock);
  const std::int64_t results = static_cast<std::int64_t>(s.batch) * s.m * s.n;
  std::int64_t least = 0;
  for (const TileCost& tile : kTiles) {
    const std::int64_t tiles =
        s.batch * ((s.m + tile.rows - 1) / tile.rows) * ((s.n + tile.columns - 1) / tile.columns);
    const auto cost_of_launch = [&](std::int64_t blocks) {
      return tile.of((tiles * blocks + multiprocessors - 1) / multiprocessors);
    };
    // One after another, where tiles fill the GPU. Else as many as fill it, or some more (few, for
    // the host tries each), so that the last multiprocessors have as much to do as the first.
    const std::int64_t room = std::max<std::int64_t>(tile.full(multiprocessors) / tiles, 1),
                       fewest = std::min<std::int64_t>(room, cut.parts),
                       most = room == 1 ? fewest
                                        : std::clamp<std::int64_t>(
                                              kSumsBeside / (4 * results), fewest,
                                              std::min<std::int64_t>(cut.parts, fewest + 32));
    for (std::int64_t beside = most; beside >= fewest; --beside) {
      const std::int64_t cost =
          cut.parts / beside * cost_of_launch(beside) + cost_of_launch(cut.parts % beside);
      if (least != 0 && cost >= least) continue;
      least = cost;
      cut.tile = tile.kind;
      cut.at_once = beside > 1 ? static_cast<int>(beside) : 0;
    }
  }
  return cut;
}

// A result: the sums of its chain's blocks [first, first + count), in order, after those before.
template <class Result>
struct AddParts {
  FloatShape s;
  int first, count;
  bool last;
  const float* sums;
  Result result;
  Divisor by_n, by_m;

  LOCKSTEP_DEVICE void operator()(std::int64_t at) const {
    const std::int64_t line = by_n.quotient(at), z = by_m.quotient(line);
    const auto j = static_cast<int>(at - line * s.n);
    const auto row = result.row(static_cast<int>(z), static_cast<int>(line - z * s.m));
    const std::int64_t all = static_cast<std::int64_t>(s.batch) * s.m * s.n;
    float sum = first == 0 ? sums[at] : row.to[j] + sums[at];
    sum = add_onto(sum, InRows{sums}, at + all, all, count - 1);
    row.to[j] = last ? row(j, sum) : sum;
  }
};

template <class Shape, class Gpu, class Left, class Right, class Result>
void launch_tiles(Gpu& gpu, const FloatShape& s, const Parts& parts, const Left& left,
                  const Right& right, const Result& result) {
  const std::int64_t tiles = static_cast<std::int64_t>(parts.count) * s.batch *
                             ((s.m + Shape::kRows - 1) / Shape::kRows) *
                             ((s.n + Shape::kColumns - 1) / Shape::kColumns);
  const bool quads = s.n % 4 == 0 && (parts.sums != nullptr || result.in_quads());
  gpu.launch(Grid{tiles, Shape::kThreads, Shape::kSharedBytes},
             FloatKernel<Shape, Left, Right, Result>{s, parts, quads, left, right, result});
}

template <class Gpu, class Left, class Right, class Result>
void launch_tiles(Gpu& gpu, TileKind tile, const FloatShape& s, const Parts& parts,
                  const Left& left, const Right& right, const Result& result) {
  switch (tile) {
    case TileKind::k128x128:
      return launch_tiles<Tile<128, 128>>(gpu, s, parts, left, right, result);
    case TileKind::k128x64:
      return launch_tiles<Tile<128, 64>>(gpu, s, parts, left, right, result);
    case TileKind::k64x64:
      return launch_tiles<Tile<64, 64>>(gpu, s, parts, left, right, result);
    case TileKind::k128x32:
      return launch_tiles<Tile<128, 32>>(gpu, s, parts, left, right, result);
    case TileKind::k32x32:
      return launch_tiles<Tile<32, 32>>(gpu, s, parts, left, right, result);
  }
}

// Where there are results.
template <class Gpu, class Left, class Right, class Result>
void launch_cut(Gpu& gpu, const FloatShape& s, const Cut& cut, const Left& left, const Right& right,
                const Result& result) {
  if (cut.at_once == 0) return launch_tiles(gpu, cut.tile, s, {}, left, right, result);
  const std::int64_t all = static_cast<std::int64_t>(s.batch) * s.m * s.n;
  const Scratch<Gpu, float> sums(gpu, cut.at_once * all);
  const Divisor by_n(s.n, all), by_m(s.m, all);
  for (int first = 0; first < cut.parts; first += cut.at_once) {
    const int count = cut.parts - first < cut.at_once ? cut.parts - first : cut.at_once;
    launch_tiles(gpu, cut.tile, s, {first, count, sums.data()}, left, right, result);
    const bool last = first + count == cut.parts;
    const AddParts<Result> body{s, first, count, last, sums.data(), result, by_n, by_m};
    gpu.launch(grid_of(all), Each<AddParts<Result>>{all, body});
  }
}

// Results of depth > 0. No offset within an operand needs more than 31 bits.
template <class Gpu, class Left, class Right, class Result>
void launch_float(Gpu& gpu, const FloatShape& s, const Left& left, const Right& right,
                  const Result& result) {
  if (s.batch == 0 || s.m == 0 || s.n == 0) return;
  launch_cut(gpu, s, cut_of(s, gpu.multiprocessors()), left, right, result);
}

// The same, [batch][m][n], for kernels to read: where all blocks of a chain are computed side by
// side, these add them up.
template <class Gpu>
class FloatSums {
 public:
  template <class Left, class Right>
  FloatSums(Gpu& gpu, const FloatShape& s, const Left& left, const Right& right)
      : all_(static_cast<std::int64_t>(s.batch) * s.m * s.n),
        cut_(all_ == 0 ? Cut() : cut_of(s, gpu.multiprocessors())),
        parts_(cut_.at_once == cut_.parts ? cut_.parts : 1),
        memory_(gpu, parts_ * all_) {
    if (all_ == 0) return;
    const BiasedRows result{memory_.data(), static_cast<std::int64_t>(s.m) * s.n, s.n, nullptr};
    if (parts_ > 1)
      launch_tiles(gpu, cut_.tile, s, {0, cut_.parts, memory_.data()}, left, right, result);
    else
      launch_cut(gpu, s, cut_, left, right, result);
  }

  ChainSums sums() const { return {memory_.data(), parts_, all_}; }

 private:
  const std::int64_t all_;
  const Cut cut_;
  const std::int64_t parts_;
  const Scratch<Gpu, float> memory_;
};

}  // namespace lockstep::numerics::cuda
