// Private: the sums of a warp's part of a tile of integers. What it multiplies next is on its way
// from shared memory (integer_lines-inl.h). Results are scaled, and put where they belong.
#pragma once

#include "numerics/cuda/integer_lines-inl.h"
#include "numerics/cuda/integer_shapes-inl.h"
#include "numerics/cuda/vector.h"

namespace lockstep::numerics::cuda {

// The sums of a warp's results, as PTX's fragments hold them. The rows of a block of 16 are those
// that operands give (Fragments): of a lane's two the second is the next one. Columns likewise.
template <class Tile, class Left, class Right>
class WarpSums {
 public:
  static constexpr int kDown = Tile::kWarpRows / 16, kAcross = Tile::kWarpColumns / 8;
  // A lane's rows, and what it has of each, 16 columns apart: neighbours, of which each of two
  // blocks of fragments has every other.
  using Four = Vector<float, 4>;
  static constexpr int kLaneRows = kDown * 2, kFours = kAcross / 2;

  template <class Thread>
  LOCKSTEP_DEVICE explicit WarpSums(const Thread& t)
      : group_(t.thread() % kWarp / 4),
        in_group_(t.thread() % 4),
        row_(t.thread() / kWarp / (Tile::kColumns / Tile::kWarpColumns) * Tile::kWarpRows),
        column_(t.thread() / kWarp % (Tile::kColumns / Tile::kWarpColumns) * Tile::kWarpColumns),
        left_(t.thread() % kWarp, row_),
        right_(t.thread() % kWarp, column_) {}

  // Reads what the first products of the first stage want.
  template <class Thread>
  LOCKSTEP_DEVICE void begin(Thread& t, const std::int16_t* stage) {
    read(t, stage, 0, now_);
  }

  // Adds the kDepth products of a stage to each sum, and reads what the first ones of the next one
  // want. Calls `next_is_there` ahead of that, when the warp has read all of this one. Calls
  // `meanwhile(part, parts)` behind each group of products until then: a warp issues in order, and
  // what stands between two groups keeps tensor cores waiting.
  template <class Thread, class NextIsThere, class Meanwhile>
  LOCKSTEP_DEVICE void add(Thread& t, const std::int16_t* stage, const std::int16_t* next,
                           const NextIsThere& next_is_there, const Meanwhile& meanwhile) {
    LOCKSTEP_UNROLL
    for (int block = 0; block < kBlocks; ++block) {
      const bool last = block + 1 == kBlocks;
      if (last) next_is_there();
      Operands ahead = now_;
      read(t, last ? next : stage, (block + 1) % kBlocks, ahead);
      const auto multiply = [&](auto& sums, auto slice, int group) {
        const Slices(&rows)[4] = now_.rows;
        const std::uint32_t a[4] = {rows[0].*slice, rows[1].*slice, rows[2].*slice, rows[3].*slice};
        LOCKSTEP_UNROLL
        for (int j = 0; j < kAcross; ++j) {
          const Slices(&of)[4] = now_.columns[j / 2];
          const std::uint32_t b[2] = {of[j % 2 * 2].*slice, of[j % 2 * 2 + 1].*slice};
          t.mma(sums[block % kDown][j], a, b);
        }
        if (!last) meanwhile(block * 3 + group, (kBlocks - 1) * 3);
      };
      multiply(high_, &Slices::high, 0);
      multiply(low_, &Slices::low, 1);
      multiply(both_, &Slices::both, 2);
      now_ = ahead;
    }
  }

  // Before sums leave 32 bits.
  LOCKSTEP_DEVICE void flush() {
    each_sum([&](int i, int j, int e) {
      total_[i][j][e] += sum_of(high_[i][j][e], low_[i][j][e], both_[i][j][e]);
      high_[i][j][e] = low_[i][j][e] = both_[i][j][e] = 0;
    });
  }

  // Passes on the sums of the warp's results: those of block (i0, j0) of product z.
  template <class Rows>
  LOCKSTEP_DEVICE void give(std::int32_t z, std::int32_t i0, std::int32_t j0, const IntegerShape& s,
                            const Rows& rows) const {
    each_row(i0, s.m, [&](int r, std::int64_t i) {
      const auto row = rows.row(z, i);
      Four results[kFours];
      with_scaled(row.scale, s.depth, [&](const auto& scaled) { fill(results, r, scaled); });
      put(results, row, j0, s.n, rows.in_fours);
    });
  }

  // The same of product `turn` of z, which has one scale: adds it to those before. These sums wait
  // for the last product, in registers and at `waiting`.
  template <class Rows>
  LOCKSTEP_DEVICE void give_in_turn(std::int32_t z, std::int32_t turn, const spec::Scale& scale,
                                    std::int32_t i0, std::int32_t j0, const IntegerShape& s,
                                    const Rows& rows, Four* waiting) {
    Four results[kLaneRows][kFours];
    with_scaled(scale, s.depth, [&](const auto& scaled) {
      LOCKSTEP_UNROLL
      for (int r = 0; r < kLaneRows; ++r) fill(results[r], r, scaled);
    });
    const auto each_place = [&](const auto& body) {
      LOCKSTEP_UNROLL
      for (int i = 0; i < Tile::kFours; ++i) {
        Four* const place =
            i < Tile::kHeld ? held_ + i : waiting + (i - Tile::kHeld) * Tile::kThreads;
        body(results[i / kFours][i % kFours], *place);
      }
    };
    if (turn > 0) {
      each_place([](Four& result, const Four& before) {
        LOCKSTEP_UNROLL
        for (int e = 0; e < 4; ++e) result.of[e] = before.of[e] + result.of[e];
      });
    }
    if (turn + 1 < s.in_turn) {
      each_place([](const Four& result, Four& place) { place = result; });
    } else {
      each_row(i0, s.m, [&](int r, std::int64_t i) {
        put(results[r], rows.row(z, i), j0, s.n, rows.in_fours);
      });
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

  // 16 rows and all columns at 32 of k.
  struct Operands {
    Slices rows[4], columns[kAcross / 2][4];
  };
  static constexpr int kBlocks = kDepth / 32 * kDown;  // of a stage

  // The columns of the next block of a stage are the same, until k is another.
  template <class Thread>
  LOCKSTEP_DEVICE void read(Thread& t, const std::int16_t* stage, int block, Operands& to) const {
    const int i = block % kDown, k = block / kDown * 32;
    LOCKSTEP_UNROLL
    for (int j = 0; i == 0 && j < kAcross / 2; ++j)
      right_.load(t, stage + Tile::kRows * kDepth, j, k, to.columns[j]);
    left_.load(t, stage, i, k, to.rows);
  }

  // visit(r, row) for row r of the lane's, which is that row of the product, if it is one.
  template <class Visit>
  LOCKSTEP_DEVICE void each_row(std::int32_t i0, std::int64_t rows, const Visit& visit) const {
    LOCKSTEP_UNROLL
    for (int r = 0; r < kLaneRows; ++r) {
      const std::int64_t row = std::int64_t{i0} + row_ + r / 2 * 16 + group_ * 2 + r % 2;
      if (row < rows) visit(r, row);
    }
  }

  // body(scaled): scaled(i, j, e) is what a sum comes to. The branch is ahead of all of them.
  template <class Body>
  LOCKSTEP_DEVICE void with_scaled(const spec::Scale& scale, std::int64_t depth,
                                   const Body& body) const {
    if (!spec::quick(scale) || depth > spec::kQuickProducts)
      return body([&](int i, int j, int e) { return spec::scaled(sum(i, j, e), scale); });
    if (depth > spec::kExactProducts)
      return body([&](int i, int j, int e) { return spec::quickly_scaled(sum(i, j, e), scale); });
    body([&](int i, int j, int e) {
      return spec::quickly_scaled(small_sum_of(high_[i][j][e], low_[i][j][e], both_[i][j][e]),
                                  scale);
    });
  }

  template <class Scaled>
  LOCKSTEP_DEVICE static void fill(Four (&results)[kFours], int r, const Scaled& scaled) {
    LOCKSTEP_UNROLL
    for (int four = 0; four < kFours; ++four) {
      LOCKSTEP_UNROLL
      for (int e = 0; e < 4; ++e)
        results[four].of[e] = scaled(r / 2, four * 2 + e % 2, r % 2 * 2 + e / 2);
    }
  }

  template <class Row>
  LOCKSTEP_DEVICE void put(const Four (&results)[kFours], const Row& row, std::int32_t j0,
                           std::int64_t columns, bool in_fours) const {
    LOCKSTEP_UNROLL
    for (int four = 0; four < kFours; ++four) {
      const std::int64_t column = std::int64_t{j0} + column_ + four * 16 + in_group_ * 4;
      if (in_fours && column < columns) row.put(column, results[four]);
      LOCKSTEP_UNROLL
      for (int e = 0; e < 4; ++e) {
        if (!in_fours && column + e < columns)
          row.put(column + e, Vector<float, 1>{{results[four].of[e]}});
      }
    }
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
  Operands now_;  // of the next products
  std::int32_t high_[kDown][kAcross][4] = {}, low_[kDown][kAcross][4] = {},
               both_[kDown][kAcross][4] = {};
  std::int64_t total_[Tile::kLong ? kDown : 1][Tile::kLong ? kAcross : 1][4] = {};
  Four held_[Tile::kHeld];  // of products in turn
};

}  // namespace lockstep::numerics::cuda
