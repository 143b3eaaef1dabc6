// Private: products of integers on tensor cores: a tile of results a block, k in steps of kDepth
// through shared memory: while one is multiplied, the next two are on their way.
//
// A product is two operands (integer_operands-inl.h) and what becomes of the sums: row(z, i) says
// how they are scaled, and puts what comes out where it belongs: one by one, or four neighbours at
// a time (in_fours). Sums are exact, so tiles of any
// size give the same bits.
//
// Products in turn (Rows::kInTurn): a block computes its tile of `in_turn` products, each scaled as
// scale(z, turn) says, and adds it to those before, in this order. A quarter of the sums wait in
// registers, the others in shared memory, each for its thread.
#pragma once

#include <utility>

#include "lockstep/core/error.h"
#include "numerics/cuda/integer_stage-inl.h"

namespace lockstep::numerics::cuda {

// A block's results and those of one of its warps. kLong: sums may be of more than kExactDepth.
template <int kRows_, int kColumns_, int kWarpRows_, int kWarpColumns_, bool kLong_>
struct IntegerTile {
  static constexpr int kRows = kRows_, kColumns = kColumns_;
  static constexpr int kWarpRows = kWarpRows_, kWarpColumns = kWarpColumns_;
  static constexpr bool kLong = kLong_;
  static constexpr int kThreads = kRows / kWarpRows * (kColumns / kWarpColumns) * kWarp;
  static constexpr int kResults = kWarpRows * kWarpColumns / kWarp;  // of a thread
  static constexpr int kHeld = kResults / 4;                         // that wait in registers
  static constexpr int kStages = 3;                                  // steps in shared memory
  static constexpr int kStageValues = (kRows + kColumns) * kDepth;

  static constexpr int shared_bytes(bool in_turn) {
    return kStages * kStageValues * 2 + (in_turn ? (kResults - kHeld) * kThreads * 4 : 0);
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

// The sums of a warp's results, as PTX's fragments hold them. The rows of a block of 16 are those
// that operands give (Fragments): of a lane's two the second is the next one. Columns likewise.
template <class Tile, class Left, class Right>
class WarpSums {
 public:
  static constexpr int kDown = Tile::kWarpRows / 16, kAcross = Tile::kWarpColumns / 8;

  template <class Thread>
  LOCKSTEP_DEVICE explicit WarpSums(const Thread& t)
      : group_(t.thread() % kWarp / 4),
        in_group_(t.thread() % 4),
        row_(t.thread() / kWarp / (Tile::kColumns / Tile::kWarpColumns) * Tile::kWarpRows),
        column_(t.thread() / kWarp % (Tile::kColumns / Tile::kWarpColumns) * Tile::kWarpColumns),
        left_(t.thread() % kWarp, row_),
        right_(t.thread() % kWarp, column_) {}

  // Adds kDepth products to each sum. Calls `meanwhile` behind the first of them: a warp issues in
  // order, so what stands before them keeps the tensor cores waiting.
  template <class Thread, class Meanwhile>
  LOCKSTEP_DEVICE void add(Thread& t, const std::int16_t* left, const std::int16_t* right,
                           const Meanwhile& meanwhile) {
    static_assert(kDepth > 32);
    LOCKSTEP_UNROLL
    for (int k = 0; k < kDepth; k += 32) {
      if (k == 32) meanwhile();
      Slices columns[kAcross / 2][4];
      LOCKSTEP_UNROLL
      for (int j = 0; j < kAcross / 2; ++j) right_.load(t, right, j, k, columns[j]);
      LOCKSTEP_UNROLL
      for (int i = 0; i < kDown; ++i) {
        Slices rows[4];
        left_.load(t, left, i, k, rows);
        const auto multiply = [&](auto& sums, auto slice) {
          const std::uint32_t a[4] = {rows[0].*slice, rows[1].*slice, rows[2].*slice,
                                      rows[3].*slice};
          LOCKSTEP_UNROLL
          for (int j = 0; j < kAcross; ++j) {
            const Slices(&of)[4] = columns[j / 2];
            const std::uint32_t b[2] = {of[j % 2 * 2].*slice, of[j % 2 * 2 + 1].*slice};
            t.mma(sums[j], a, b);
          }
        };
        multiply(high_[i], &Slices::high);
        multiply(low_[i], &Slices::low);
        multiply(both_[i], &Slices::both);
      }
    }
  }

  // Before sums leave 32 bits.
  LOCKSTEP_DEVICE void flush() {
    each_sum([&](int i, int j, int e) {
      total_[i][j][e] += sum_of(high_[i][j][e], low_[i][j][e], both_[i][j][e]);
      high_[i][j][e] = low_[i][j][e] = both_[i][j][e] = 0;
    });
  }

  // Passes on the sums of the warp's results: those of block (i0, j0) of product `turn` of z. Of
  // products in turn, which have one scale, sums wait at `waiting` for the last one.
  template <class Rows>
  LOCKSTEP_DEVICE void give(std::int32_t z, std::int32_t turn, const spec::Scale& of_turn,
                            std::int32_t i0, std::int32_t j0, const IntegerShape& s,
                            const Rows& rows, float* waiting) {
    const bool last = !Rows::kInTurn || turn + 1 == s.in_turn;
    LOCKSTEP_UNROLL
    for (int i = 0; i < kDown; ++i) {
      LOCKSTEP_UNROLL
      for (int half = 0; half < 2; ++half) {
        const std::int64_t row = std::int64_t{i0} + row_ + i * 16 + group_ * 2 + half;
        if (row >= s.m) continue;
        const auto result = rows.row(z, row);
        spec::Scale scale = of_turn;
        if constexpr (!Rows::kInTurn) scale = result.scale;
        const auto place = [&](int four, int e) {
          const int which = ((i * 2 + half) * kFours + four) * 4 + e;
          return which < Tile::kHeld ? held_ + which
                                     : waiting + (which - Tile::kHeld) * Tile::kThreads;
        };
        Four before[kFours] = {};  // all are on their way before the first is waited for
        if (Rows::kInTurn && turn > 0)
          each([&](int four, int e) { before[four].of[e] = *place(four, e); });
        Four sums[kFours];
        LOCKSTEP_UNROLL
        for (int four = 0; four < kFours; ++four)
          sums[four] = scaled(i, half, four, scale, s.depth);
        if (Rows::kInTurn && turn > 0)
          each([&](int four, int e) { sums[four].of[e] = before[four].of[e] + sums[four].of[e]; });
        if (!last) {
          each([&](int four, int e) { *place(four, e) = sums[four].of[e]; });
          continue;
        }
        LOCKSTEP_UNROLL
        for (int four = 0; four < kFours; ++four) {
          const std::int64_t column = std::int64_t{j0} + column_ + four * 16 + in_group_ * 4;
          if (rows.in_fours && column < s.n) result.put(column, sums[four]);
          LOCKSTEP_UNROLL
          for (int e = 0; e < 4; ++e) {
            if (!rows.in_fours && column + e < s.n)
              result.put(column + e, Vector<float, 1>{{sums[four].of[e]}});
          }
        }
      }
    }
  }

  LOCKSTEP_DEVICE void clear() {
    each_sum([&](int i, int j, int e) {
      high_[i][j][e] = low_[i][j][e] = both_[i][j][e] = 0;
      if constexpr (Tile::kLong) total_[i][j][e] = 0;
    });
  }

 private:
  static_assert(Tile::kWarpRows % 16 == 0 && Tile::kWarpColumns % 16 == 0);

  // Of a row 16 columns apart: neighbours, of which each of two blocks of fragments has every
  // other.
  using Four = Vector<float, 4>;
  static constexpr int kFours = kAcross / 2;

  template <class Body>
  LOCKSTEP_DEVICE static void each(const Body& body) {
    LOCKSTEP_UNROLL
    for (int four = 0; four < kFours; ++four) {
      LOCKSTEP_UNROLL
      for (int e = 0; e < 4; ++e) body(four, e);
    }
  }

  LOCKSTEP_DEVICE Four scaled(int i, int half, int four, const spec::Scale& scale,
                              std::int64_t depth) const {
    const auto of_each = [&](const auto& value) {
      Four result;
      LOCKSTEP_UNROLL
      for (int e = 0; e < 4; ++e) result.of[e] = value(four * 2 + e % 2, half * 2 + e / 2);
      return result;
    };
    if (!spec::quick(scale) || depth > spec::kQuickProducts)
      return of_each([&](int j, int e) { return spec::scaled(sum(i, j, e), scale); });
    if (depth > spec::kExactProducts)
      return of_each([&](int j, int e) { return spec::quickly_scaled(sum(i, j, e), scale); });
    return of_each([&](int j, int e) {
      return spec::quickly_scaled(small_sum_of(high_[i][j][e], low_[i][j][e], both_[i][j][e]),
                                  scale);
    });
  }

  LOCKSTEP_DEVICE std::int64_t sum(int i, int j, int e) const {
    std::int64_t all = sum_of(high_[i][j][e], low_[i][j][e], both_[i][j][e]);
    if constexpr (Tile::kLong) all += total_[i][j][e];
    return all;
  }

  template <class Body>
  LOCKSTEP_DEVICE void each_sum(const Body& body) {
    LOCKSTEP_UNROLL
    for (int i = 0; i < kDown; ++i) {
      LOCKSTEP_UNROLL
      for (int j = 0; j < kAcross; ++j) {
        LOCKSTEP_UNROLL
        for (int e = 0; e < 4; ++e) body(i, j, e);
      }
    }
  }

  int group_, in_group_;  // of the lane, as PTX says
  int row_, column_;      // where the warp's results begin
  Fragments<Lines<Left, Tile::kRows>, kDown, false> left_;
  Fragments<Lines<Right, Tile::kColumns>, kAcross / 2, true> right_;
  std::int32_t high_[kDown][kAcross][4] = {}, low_[kDown][kAcross][4] = {},
               both_[kDown][kAcross][4] = {};
  std::int64_t total_[Tile::kLong ? kDown : 1][Tile::kLong ? kAcross : 1][4] = {};
  float held_[Tile::kHeld];
};

template <class Tile, bool kWide, class Left, class Right, class Rows>
struct IntegerKernel {
  IntegerShape s;
  Left left;
  Right right;
  Rows rows;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const auto columns = (static_cast<std::int32_t>(s.n) + Tile::kColumns - 1) / Tile::kColumns;
    const auto lines = (static_cast<std::int32_t>(s.m) + Tile::kRows - 1) / Tile::kRows;
    const auto tile = static_cast<std::int32_t>(t.block());
    const std::int32_t z = tile / columns / lines;
    const std::int32_t i0 = tile / columns % lines * Tile::kRows;
    const std::int32_t j0 = tile % columns * Tile::kColumns;
    const std::int64_t first = Rows::kInTurn ? std::int64_t{z} * s.in_turn : z;  // product
    const auto depth = static_cast<std::int32_t>(s.depth);
    Stage<Left, Tile::kRows, Tile::kThreads, kWide> a(left, t.thread(), first, i0, s.m, depth);
    Stage<Right, Tile::kColumns, Tile::kThreads, kWide> b(right, t.thread(), first, j0, s.n, depth);
    auto* const shared = t.template shared<std::int16_t>();
    std::int16_t* const end = shared + Tile::kStages * Tile::kStageValues;
    const auto behind = [=](std::int16_t* stage) {
      return stage + Tile::kStageValues == end ? shared : stage + Tile::kStageValues;
    };
    const std::int32_t steps = s.steps(), products = Rows::kInTurn ? s.in_turn : 1;
    std::int16_t* next = shared;                               // that is fetched
    std::int32_t left_of_turn = steps, turns_left = products;  // to fetch
    const auto fetch = [&] {
      if (turns_left > 0) {
        a.fetch(t, next);
        b.fetch(t, next + Tile::kRows * kDepth);
        if (--left_of_turn == 0) {
          left_of_turn = steps;
          --turns_left;
          if constexpr (Rows::kInTurn) {
            a.next();
            b.next();
          }
        }
      }
      t.commit();
      next = behind(next);
    };
    for (int ahead = 0; ahead < Tile::kStages - 1; ++ahead) fetch();

    WarpSums<Tile, Left, Right> sums(t);
    float* const waiting = reinterpret_cast<float*>(end) + t.thread();
    std::int16_t* now = shared;
    for (std::int32_t turn = 0; turn < products; ++turn) {
      spec::Scale scale{};  // on its way while the product is computed
      if constexpr (Rows::kInTurn) scale = rows.scale(z, turn);
      for (std::int32_t k = 0; k < steps; ++k) {
        t.template wait<Tile::kStages - 2>();
        t.barrier();  // what is fetched next lies where the step before this one was
        sums.add(t, now, now + Tile::kRows * kDepth, fetch);
        if constexpr (Tile::kLong) {
          if ((k + 1) % (kExactDepth / kDepth) == 0) sums.flush();
        }
        now = behind(now);
      }
      sums.give(z, turn, scale, i0, j0, s, rows, waiting);
      if constexpr (Rows::kInTurn) sums.clear();
    }
  }
};

template <class Tile, bool kWide, class Gpu, class Left, class Right, class Rows>
void launch_integer_tiles(Gpu& gpu, const IntegerShape& s, const Left& left, const Right& right,
                          const Rows& rows) {
  const std::int64_t tiles = s.tiles<Tile>();
  LOCKSTEP_ASSERT(tiles < kMostCounted && s.m < kMostCounted && s.n < kMostCounted,
                  "a product this large");
  gpu.launch(Grid{tiles, Tile::kThreads, Tile::shared_bytes(Rows::kInTurn)},
             IntegerKernel<Tile, kWide, Left, Right, Rows>{s, left, right, rows});
}

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

template <class Gpu, class Left, class Right, class Rows>
void launch_integers(Gpu& gpu, const IntegerShape& s, bool wide, const Left& left,
                     const Right& right, const Rows& rows) {
  LOCKSTEP_ASSERT(s.depth < kMostCounted, "sums would leave 53 bits");
  with_tile_for<Rows::kInTurn>(s, wide, [&](auto tile) {
    using Tile = decltype(tile);
    if (wide) return launch_integer_tiles<Tile, true>(gpu, s, left, right, rows);
    if constexpr (Tile::kLong) launch_integer_tiles<Tile, false>(gpu, s, left, right, rows);
  });
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
