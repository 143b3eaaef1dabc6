// Private: tiles of integer products, and which of them a product takes.
#pragma once

#include <utility>

#include "numerics/cuda/integer_slices-inl.h"

namespace lockstep::numerics::cuda {

// A block's results and those of one of its warps. kLong: sums may be of more than kExactDepth.
template <int kRows_, int kColumns_, int kWarpRows_, int kWarpColumns_, bool kLong_>
struct IntegerTile {
  static constexpr int kRows = kRows_, kColumns = kColumns_;
  static constexpr int kWarpRows = kWarpRows_, kWarpColumns = kWarpColumns_;
  static constexpr bool kLong = kLong_;
  static constexpr int kThreads = kRows / kWarpRows * (kColumns / kWarpColumns) * kWarp;
  static constexpr int kFours = kWarpRows * kWarpColumns / kWarp / 4;  // results of a thread
  static constexpr int kHeld = (kFours + 3) / 4;                       // that wait in registers
  static constexpr int kStages = 3;                                    // steps in shared memory
  static constexpr int kStageValues = (kRows + kColumns) * kDepth;

  static constexpr int shared_bytes(bool in_turn) {
    return kStages * kStageValues * 2 + (in_turn ? (kFours - kHeld) * kThreads * 16 : 0);
  }
};

// A warp has three sums a result. The more results a block has, the less it reads for each: a block
// of a large tile has a multiprocessor's registers for itself. Where columns would fill less than
// half of its last tiles, a tile has fewer. Of products in turn, sums that wait take shared memory,
// and rows that fill half a tile are computed by small ones.
using LargeTile = IntegerTile<96, 128, 48, 32, false>;
using NarrowTile = IntegerTile<128, 64, 32, 32, false>;
using TurnsTile = IntegerTile<128, 64, 32, 32, false>;
using SmallTile = IntegerTile<32, 32, 16, 16, true>;
static_assert(LargeTile::shared_bytes(false) <= kMostShared &&
              NarrowTile::shared_bytes(false) <= kMostShared &&
              TurnsTile::shared_bytes(true) <= kMostShared);

// Fewer large tiles leave most of a GPU idle (over 100 multiprocessors); small ones are four to
// twelve times as many.
inline constexpr std::int64_t kManyTiles = 64;

// Tiles count in 32 bits. (No operand is so large: 2^31 pixels of 8 channels are 32 GiB.)
inline constexpr std::int64_t kMostCounted = (std::int64_t{1} << 31) - 1024;

struct IntegerShape {
  std::int64_t batch, m, n, depth;
  std::int32_t in_turn = 1;  // products for each of the batch

  LOCKSTEP_HD std::int32_t steps() const {
    return depth > 0 ? static_cast<std::int32_t>((depth + kDepth - 1) / kDepth) : 1;
  }

  template <class Tile>
  LOCKSTEP_HD std::int64_t tiles() const {
    return batch * ((m + Tile::kRows - 1) / Tile::kRows) *
           ((n + Tile::kColumns - 1) / Tile::kColumns);
  }
};

// Whether the last columns would fill more than half of a large tile.
inline bool fills_large_tiles(const IntegerShape& s) {
  const std::int64_t last = s.n % LargeTile::kColumns;
  return last == 0 || last > NarrowTile::kColumns;
}

// visit(tile) with the tile for a shape: a Tile without a value. `wide` is Stage's: plain loads are
// for few channels, where small tiles do.
template <bool kInTurn, class Visit>
decltype(auto) with_tile_for(const IntegerShape& s, bool wide, const Visit& visit) {
  const auto many = [&](auto tile) {
    return wide && s.depth <= kExactDepth && s.tiles<decltype(tile)>() >= kManyTiles;
  };
  if constexpr (kInTurn) {
    if (many(TurnsTile{}) && s.m > TurnsTile::kRows / 2) return visit(TurnsTile{});
  } else {
    if (many(LargeTile{}) && fills_large_tiles(s)) return visit(LargeTile{});
    if (many(NarrowTile{})) return visit(NarrowTile{});
  }
  return visit(SmallTile{});
}

// Whether one block should compute its tile of all `in_turn` products, in place of a block each. It
// saves their way to memory and back: at 14 bytes a clock, a multiprocessor's part of 3.4 TB/s,
// that takes a tile as long as some steps of k. But blocks are fewer, and multiprocessors may wait
// for the last of them.
inline bool in_turn_pays(const IntegerShape& s, bool wide, std::int64_t multiprocessors) {
  const auto [tiles, large] = with_tile_for<true>(s, wide, [&](auto tile) {
    return std::pair(s.tiles<decltype(tile)>(), !decltype(tile)::kLong);
  });
  const std::int64_t rounds = (tiles + multiprocessors - 1) / multiprocessors;
  const std::int64_t steps_saved = large ? 5 : 2;
  return rounds * multiprocessors * (s.steps() + 1) <= tiles * (s.steps() + 1 + steps_saved);
}

}  // namespace lockstep::numerics::cuda
