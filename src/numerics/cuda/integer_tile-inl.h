// Private: products of integers on tensor cores: a tile of results a block, k in steps of kDepth
// through shared memory, which holds two of them: while one is multiplied, the next one is read.
//
// A product is two operands (integer_operands-inl.h) and what becomes of the sums: row(z, turn, i)
// says how they are scaled, and puts what comes out where it belongs. Sums are exact, so tiles of
// any size give the same bits.
//
// Products in turn (Rows::kInTurn): a block computes its tile of `in_turn` products, and adds each
// to those before, in this order. The sums wait in shared memory, each for its thread.
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
  static constexpr int kResults = kWarpRows * kWarpColumns / kWarp;  // of a thread
  static constexpr int kPlaneWords = (kRows + kColumns) * kRowWords;
  static constexpr int kStepsWords = 4 * kPlaneWords;  // two planes, twice

  static constexpr int shared_bytes(bool in_turn) {
    return (kStepsWords + (in_turn ? kResults * kThreads : 0)) * 4;
  }
};

// A warp has three sums a result: 96 registers of a thread in a large tile. Of products in turn a
// large tile is half as large, for the sums that wait.
template <bool kInTurn>
using LargeTile = IntegerTile<kInTurn ? 64 : 128, 64, 32, 32, false>;
using SmallTile = IntegerTile<32, 32, 16, 16, true>;
static_assert(LargeTile<false>::shared_bytes(false) <= 48 * 1024 &&
                  LargeTile<true>::shared_bytes(true) <= 48 * 1024,
              "what every launch may ask for");

// Fewer large tiles leave most of a GPU idle (over 100 multiprocessors); small ones are four or
// eight times as many.
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

  // Passes on the sums of the warp's results: those of block (i0, j0) of product `turn` of z. Of
  // products in turn, sums wait at `waiting` for the last one.
  template <class Rows>
  LOCKSTEP_DEVICE void give(std::int32_t z, std::int32_t turn, std::int32_t i0, std::int32_t j0,
                            const IntegerShape& s, const Rows& rows, float* waiting) const {
    const bool last = !Rows::kInTurn || turn + 1 == s.in_turn;
    LOCKSTEP_UNROLL
    for (int i = 0; i < kDown; ++i) {
      LOCKSTEP_UNROLL
      for (int half = 0; half < 2; ++half) {
        const std::int64_t row = std::int64_t{i0} + row_ + i * 16 + half * 8 + group_;
        if (row >= s.m) continue;
        const auto result = rows.row(z, turn, row);
        const Results at{half, std::int64_t{j0} + column_ + in_group_ * 2, s.n};
        float before[kAcross][2] = {};  // all are on their way before the first is waited for
        const auto place = [&](int j, int e) {
          return waiting + ((i * kAcross + j) * 4 + e) * Tile::kThreads;
        };
        if (Rows::kInTurn && turn > 0)
          at.each([&](int j, int e, std::int64_t) { before[j][e % 2] = *place(j, e); });
        const auto put = [&](const auto& value) {
          at.each([&](int j, int e, std::int64_t column) {
            float sum = value(j, e);
            if (Rows::kInTurn && turn > 0) sum = before[j][e % 2] + sum;
            if (last)
              result.put(column, sum);
            else
              *place(j, e) = sum;
          });
        };
        const spec::Scale scale = result.scale;
        if (!spec::quick(scale) || s.depth > spec::kQuickProducts)
          put([&](int j, int e) { return spec::scaled(sum(i, j, e), scale); });
        else if (s.depth > spec::kExactProducts)
          put([&](int j, int e) { return spec::quickly_scaled(sum(i, j, e), scale); });
        else
          put([&](int j, int e) {
            return spec::quickly_scaled(small_sum_of(high_[i][j][e], low_[i][j][e], both_[i][j][e]),
                                        scale);
          });
      }
    }
  }

  LOCKSTEP_DEVICE void clear() {
    for_each([&](int i, int j, int e) {
      high_[i][j][e] = low_[i][j][e] = both_[i][j][e] = 0;
      if constexpr (Tile::kLong) total_[i][j][e] = 0;
    });
  }

 private:
  static_assert(Tile::kWarpRows % 16 == 0 && Tile::kWarpColumns % 16 == 0);

  // Of a row of fragments the upper or the lower half.
  struct Results {
    int half;
    std::int64_t first, n;  // columns

    template <class Body>
    LOCKSTEP_DEVICE void each(const Body& body) const {
      LOCKSTEP_UNROLL
      for (int j = 0; j < kAcross; ++j) {
        LOCKSTEP_UNROLL
        for (int e = half * 2; e < half * 2 + 2; ++e) {
          const std::int64_t column = first + j * 8 + e % 2;
          if (column < n) body(j, e, column);
        }
      }
    }
  };

  LOCKSTEP_DEVICE std::int64_t sum(int i, int j, int e) const {
    std::int64_t all = sum_of(high_[i][j][e], low_[i][j][e], both_[i][j][e]);
    if constexpr (Tile::kLong) all += total_[i][j][e];
    return all;
  }

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
    const std::int64_t first = Rows::kInTurn ? std::int64_t{z} * s.in_turn : z;  // product
    const auto depth = static_cast<std::int32_t>(s.depth);
    Stage<Left, Tile::kRows, Tile::kThreads, kWide> a(left, t.thread(), first, i0, s.m, depth);
    Stage<Right, Tile::kColumns, Tile::kThreads, kWide> b(right, t.thread(), first, j0, s.n, depth);
    auto* const shared = t.template shared<std::uint32_t>();
    const auto planes = [=](std::int32_t step, int first_row) {
      std::uint32_t* const high = shared + step % 2 * 2 * Tile::kPlaneWords + first_row * kRowWords;
      return Planes{high, high + Tile::kPlaneWords};
    };
    const std::int32_t steps = s.steps(), products = Rows::kInTurn ? s.in_turn : 1;
    std::int32_t fetched = 0;  // steps of a product
    const auto fetch = [&] {
      a.fetch();
      b.fetch();
      if constexpr (Rows::kInTurn) {
        if (++fetched == steps) {
          a.next();
          b.next();
          fetched = 0;
        }
      }
    };
    const auto stage = [&](std::int32_t step) {
      a.store(planes(step, 0));
      b.store(planes(step, Tile::kRows));
    };

    WarpSums<Tile> sums(t);
    float* const waiting = reinterpret_cast<float*>(shared + Tile::kStepsWords) + t.thread();
    std::int32_t step = -1;  // of all products
    for (std::int32_t turn = 0; turn < products; ++turn) {
      for (std::int32_t k = turn > 0 ? 0 : -1; k < steps; ++k, ++step) {
        const bool more = k + 1 < steps || turn + 1 < products;
        if (more) fetch();
        if (k >= 0) {
          sums.add(t, planes(step, 0), planes(step, Tile::kRows));
          if constexpr (Tile::kLong) {
            if ((k + 1) % (kExactDepth / kDepth) == 0) sums.flush();
          }
        }
        if (more) {
          stage(step + 1);  // the others may still read those of this step
          t.barrier();
        }
      }
      sums.give(z, turn, i0, j0, s, rows, waiting);
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

template <bool kInTurn>
inline bool takes_large_tiles(const IntegerShape& s, bool wide) {
  return wide && s.depth <= kExactDepth && s.tiles<LargeTile<kInTurn>>() >= kManyTiles;
}

// Chooses by the shape; `wide` is Stage's. Plain loads are for few channels: small tiles do.
template <class Gpu, class Left, class Right, class Rows>
void launch_integers(Gpu& gpu, const IntegerShape& s, bool wide, const Left& left,
                     const Right& right, const Rows& rows) {
  LOCKSTEP_ASSERT(s.depth < kMostCounted, "sums would leave 53 bits");
  constexpr bool kInTurn = Rows::kInTurn;
  if (takes_large_tiles<kInTurn>(s, wide))
    return launch_integer_tiles<LargeTile<kInTurn>, true>(gpu, s, left, right, rows);
  if (wide) return launch_integer_tiles<SmallTile, true>(gpu, s, left, right, rows);
  launch_integer_tiles<SmallTile, false>(gpu, s, left, right, rows);
}

// Whether one block should compute its tile of all `in_turn` products, in place of a block each. It
// saves their way to memory and back: at 14 bytes a clock, a multiprocessor's part of 3.4 TB/s,
// that takes a tile as long as some steps of k. But blocks are fewer, and multiprocessors may wait
// for the last of them.
inline bool in_turn_pays(const IntegerShape& s, bool wide, std::int64_t multiprocessors) {
  const bool large = takes_large_tiles<true>(s, wide);
  const std::int64_t tiles = large ? s.tiles<LargeTile<true>>() : s.tiles<SmallTile>();
  const std::int64_t rounds = (tiles + multiprocessors - 1) / multiprocessors;
  const std::int64_t steps_saved = large ? 5 : 2;
  return rounds * multiprocessors * (s.steps() + 1) <= tiles * (s.steps() + 1 + steps_saved);
}

}  // namespace lockstep::numerics::cuda
