// Private: products of integers on tensor cores: a tile of results a block, k in steps of kDepth
// through shared memory, which holds two of them: while one is multiplied, the next one is read.
//
// A product is two operands (integer_operands-inl.h) and what becomes of the sums: row(z, i) gives
// a function of a column and its sum. Sums are exact, so tiles of any size give the same bits.
#pragma once

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
  static constexpr int kPlaneWords = (kRows + kColumns) * kRowWords;
  static constexpr int kSharedBytes = 4 * kPlaneWords * 4;  // two planes, twice
  static_assert(kSharedBytes <= 48 * 1024, "what every launch may ask for");
};

// A warp has three sums a result: 96 registers of a thread in a large tile.
using LargeTile = IntegerTile<128, 64, 32, 32, false>;
using SmallTile = IntegerTile<32, 32, 16, 16, true>;

// Fewer large tiles leave most of a GPU idle (over 100 multiprocessors); small ones are eight times
// as many.
inline constexpr std::int64_t kManyTiles = 64;

// Tiles count in 32 bits. (No operand is so large: 2^31 pixels of 8 channels are 32 GiB.)
inline constexpr std::int64_t kMostCounted = (std::int64_t{1} << 31) - 1024;

struct IntegerShape {
  std::int64_t batch, m, n, depth;

  template <class Tile>
  LOCKSTEP_HD std::int64_t tiles() const {
    return batch * ((m + Tile::kRows - 1) / Tile::kRows) *
           ((n + Tile::kColumns - 1) / Tile::kColumns);
  }
};

// The sums of a warp's results, as PTX's fragments hold them.
template <class Tile>
class WarpSums {
 public:
  static constexpr int kDown = Tile::kWarpRows / 16, kAcross = Tile::kWarpColumns / 8;

  template <class Thread>
  LOCKSTEP_DEVICE explicit WarpSums(const Thread& t)
      : group_(t.thread() % kWarp / 4),
        in_group_(t.thread() % 4),
        row_(t.thread() / kWarp / (Tile::kColumns / Tile::kWarpColumns) * Tile::kWarpRows),
        column_(t.thread() / kWarp % (Tile::kColumns / Tile::kWarpColumns) * Tile::kWarpColumns) {
    const int matrix = t.thread() % kWarp / 8, row = t.thread() % 8;
    left_ = word_at(row_ + matrix % 2 * 8 + row, matrix / 2 * 4);
    right_ = word_at(column_ + matrix / 2 * 8 + row, matrix % 2 * 4);
  }

  // Adds kDepth products to each sum.
  template <class Thread>
  LOCKSTEP_DEVICE void add(Thread& t, const Planes& left, const Planes& right) {
    LOCKSTEP_UNROLL
    for (int k = 0; k < kRowWords; k += 8) {
      std::uint32_t high[kDown][4], low[kDown][4], both[kDown][4];
      LOCKSTEP_UNROLL
      for (int i = 0; i < kDown; ++i) {
        const int at = further_down(left_ ^ k, i * 16);
        t.load_matrices(high[i], left.high + at);
        t.load_matrices(low[i], left.low + at);
        LOCKSTEP_UNROLL
        for (int r = 0; r < 4; ++r) both[i][r] = sums_of(high[i][r], low[i][r]);
      }
      LOCKSTEP_UNROLL
      for (int j = 0; j < kAcross; j += 2) {
        std::uint32_t high_b[4], low_b[4];
        const int at = further_down(right_ ^ k, j * 8);
        t.load_matrices(high_b, right.high + at);
        t.load_matrices(low_b, right.low + at);
        LOCKSTEP_UNROLL
        for (int half = 0; half < 2; ++half) {
          const std::uint32_t h[2] = {high_b[half * 2], high_b[half * 2 + 1]};
          const std::uint32_t l[2] = {low_b[half * 2], low_b[half * 2 + 1]};
          const std::uint32_t s[2] = {sums_of(h[0], l[0]), sums_of(h[1], l[1])};
          LOCKSTEP_UNROLL
          for (int i = 0; i < kDown; ++i) {
            t.mma(high_[i][j + half], high[i], h);
            t.mma(low_[i][j + half], low[i], l);
            t.mma(both_[i][j + half], both[i], s);
          }
        }
      }
    }
  }

  // Before sums leave 32 bits.
  LOCKSTEP_DEVICE void flush() {
    for_each([&](int i, int j, int e) {
      total_[i][j][e] += sum_of(high_[i][j][e], low_[i][j][e], both_[i][j][e]);
      high_[i][j][e] = low_[i][j][e] = both_[i][j][e] = 0;
    });
  }

  // Passes on the sums of the warp's results: those of block (i0, j0) of matrix z.
  template <class Rows>
  LOCKSTEP_DEVICE void give(std::int32_t z, std::int32_t i0, std::int32_t j0, const IntegerShape& s,
                            const Rows& rows) const {
    LOCKSTEP_UNROLL
    for (int i = 0; i < kDown; ++i) {
      LOCKSTEP_UNROLL
      for (int half = 0; half < 2; ++half) {
        const std::int64_t row = std::int64_t{i0} + row_ + i * 16 + half * 8 + group_;
        if (row >= s.m) continue;
        const auto result = rows.row(z, row);
        LOCKSTEP_UNROLL
        for (int j = 0; j < kAcross; ++j) {
          LOCKSTEP_UNROLL
          for (int e = half * 2; e < half * 2 + 2; ++e) {
            const std::int64_t column = std::int64_t{j0} + column_ + j * 8 + in_group_ * 2 + e % 2;
            std::int64_t sum = sum_of(high_[i][j][e], low_[i][j][e], both_[i][j][e]);
            if constexpr (Tile::kLong) sum += total_[i][j][e];
            if (column < s.n) result(column, sum);
          }
        }
      }
    }
  }

 private:
  static_assert(Tile::kWarpRows % 16 == 0 && Tile::kWarpColumns % 16 == 0);

  template <class Body>
  LOCKSTEP_DEVICE void for_each(const Body& body) {
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
  // Where the lane's row begins (Thread::load_matrices) of the first matrices: of the left operand
  // rows 0 and 8, then 16 of k further; of the right one 16 of k, then columns 8.
  int left_, right_;
  std::int32_t high_[kDown][kAcross][4] = {}, low_[kDown][kAcross][4] = {},
               both_[kDown][kAcross][4] = {};
  std::int64_t total_[Tile::kLong ? kDown : 1][Tile::kLong ? kAcross : 1][4] = {};
};

template <class Tile, bool kWide, class Left, class Right, class Rows>
struct IntegerKernel {
  IntegerShape s;
  Left left;
  Right right;
  Rows rows;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const auto columns = static_cast<std::int32_t>((s.n + Tile::kColumns - 1) / Tile::kColumns);
    const auto lines = static_cast<std::int32_t>((s.m + Tile::kRows - 1) / Tile::kRows);
    const auto tile = static_cast<std::int32_t>(t.block());
    const std::int32_t z = tile / columns / lines;
    const std::int32_t i0 = tile / columns % lines * Tile::kRows;
    const std::int32_t j0 = tile % columns * Tile::kColumns;
    const auto depth = static_cast<std::int32_t>(s.depth);
    Stage<Left, Tile::kRows, Tile::kThreads, kWide> a(left, t.thread(), z, i0, s.m, depth);
    Stage<Right, Tile::kColumns, Tile::kThreads, kWide> b(right, t.thread(), z, j0, s.n, depth);
    auto* const shared = t.template shared<std::uint32_t>();
    const auto planes = [=](std::int32_t step, int first_row) {
      std::uint32_t* const high = shared + step % 2 * 2 * Tile::kPlaneWords + first_row * kRowWords;
      return Planes{high, high + Tile::kPlaneWords};
    };
    const std::int32_t steps = (depth + kDepth - 1) / kDepth;
    const auto fetch = [&] {
      a.fetch();
      b.fetch();
    };
    const auto stage = [&](std::int32_t step) {
      a.store(planes(step, 0));
      b.store(planes(step, Tile::kRows));
    };

    WarpSums<Tile> sums(t);
    for (std::int32_t step = -1; step < steps; ++step) {
      const bool more = step + 1 < steps;
      if (more) fetch();
      if (step >= 0) {
        sums.add(t, planes(step, 0), planes(step, Tile::kRows));
        if constexpr (Tile::kLong) {
          if ((step + 1) % (kExactDepth / kDepth) == 0) sums.flush();
        }
      }
      if (more) {
        stage(step + 1);  // the others may still read those of this step
        t.barrier();
      }
    }
    sums.give(z, i0, j0, s, rows);
  }
};

template <class Tile, bool kWide, class Gpu, class Left, class Right, class Rows>
void launch_integer_tiles(Gpu& gpu, const IntegerShape& s, const Left& left, const Right& right,
                          const Rows& rows) {
  const std::int64_t tiles = s.tiles<Tile>();
  LOCKSTEP_ASSERT(tiles < kMostCounted && s.m < kMostCounted && s.n < kMostCounted,
                  "a product this large");
  gpu.launch(Grid{tiles, Tile::kThreads, Tile::kSharedBytes},
             IntegerKernel<Tile, kWide, Left, Right, Rows>{s, left, right, rows});
}

// Chooses by the shape; `wide` is Stage's. Plain loads are for few channels: small tiles do.
template <class Gpu, class Left, class Right, class Rows>
void launch_integers(Gpu& gpu, const IntegerShape& s, bool wide, const Left& left,
                     const Right& right, const Rows& rows) {
  LOCKSTEP_ASSERT(s.depth < kMostCounted, "sums would leave 53 bits");
  if (!wide) return launch_integer_tiles<SmallTile, false>(gpu, s, left, right, rows);
  if (s.depth <= kExactDepth && s.tiles<LargeTile>() >= kManyTiles)
    return launch_integer_tiles<LargeTile, true>(gpu, s, left, right, rows);
  launch_integer_tiles<SmallTile, true>(gpu, s, left, right, rows);
}

}  // namespace lockstep::numerics::cuda
