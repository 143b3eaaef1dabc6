// Private: products of integers on tensor cores: a tile of results a block (integer_shapes-inl.h),
// k in steps of kDepth through shared memory: while one is multiplied (integer_sums-inl.h), the
// next two are on their way (integer_steps-inl.h).
//
// A product is two operands (integer_operands-inl.h) and what becomes of the sums: row(z, i) says
// how they are scaled, and puts what comes out where it belongs: one by one, or four neighbours at
// a time (in_fours). Sums are exact, so tiles of any size give the same bits.
//
// Products in turn (Rows::kInTurn): a block computes its tile of `in_turn` products, each scaled as
// scale(z, turn) says, and adds it to those before, in this order. A quarter of the sums wait in
// registers, the others in shared memory, each for its thread.
#pragma once

#include "lockstep/core/error.h"
#include "numerics/cuda/integer_steps-inl.h"
#include "numerics/cuda/integer_sums-inl.h"

namespace lockstep::numerics::cuda {

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
    const std::int32_t count = s.steps(), products = Rows::kInTurn ? s.in_turn : 1;
    Steps<Left, Right, Tile, kWide, Rows::kInTurn> steps({left, t.thread(), first, i0, s.m, depth},
                                                         {right, t.thread(), first, j0, s.n, depth},
                                                         count, products);
    auto* const shared = t.template shared<std::int16_t>();
    std::int16_t* const end = shared + Tile::kStages * Tile::kStageValues;
    // The stage that is multiplied, and the one before, which nobody reads any more.
    std::int16_t *now = shared, *before = end - Tile::kStageValues;
    for (std::int16_t* stage = shared; stage != before; stage += Tile::kStageValues)
      steps.copy(t, stage, 0, 1);
    const auto next_is_there = [&] {
      t.template wait<Tile::kStages - 2>();
      t.barrier();  // and all have read what the next copies replace
    };
    next_is_there();

    WarpSums<Tile, Left, Right> sums(t);
    sums.begin(t, now);
    auto* const waiting = reinterpret_cast<Vector<float, 4>*>(end) + t.thread();
    for (std::int32_t turn = 0; turn < products; ++turn) {
      spec::Scale scale{};  // on its way while the product is computed
      if constexpr (Rows::kInTurn) scale = rows.scale(z, turn);
      for (std::int32_t k = 0; k < count; ++k) {
        std::int16_t* const last = end - Tile::kStageValues;
        std::int16_t* const next = now == last ? shared : now + Tile::kStageValues;
        sums.add(t, now, next, next_is_there,
                 [&](int part, int parts) { steps.copy(t, before, part, parts); });
        before = now;
        now = next;
        if constexpr (Tile::kLong) {
          if ((k + 1) % (kExactDepth / kDepth) == 0) sums.flush();
        }
      }
      if constexpr (Rows::kInTurn) {
        sums.give_in_turn(z, turn, scale, i0, j0, s, rows, waiting);
        sums.clear();
      } else {
        sums.give(z, i0, j0, s, rows);
      }
    }
    t.template wait<0>();  // zeros: the memory is another block's when this one has ended
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

}  // namespace lockstep::numerics::cuda
