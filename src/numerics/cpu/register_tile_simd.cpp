#include "numerics/cpu/isa_tables.h"
#include "numerics/cpu/ragged_tile.h"
#include "numerics/cpu/register_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/cpu/register_tile_simd.cpp"
#include "numerics/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::numerics::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int kLanes = HWY_MAX_BYTES / 4;
constexpr int kRows = kLanes == 8 ? 6 : 12;  // of 16 and of 32 registers, two vectors wide

// GCC keeps the accumulators in registers only if these loops are unrolled before it looks.
#define LOCKSTEP_UNROLL _Pragma("GCC unroll 16")

template <int kR, int kV, bool kPacked>
void tile_of(const RegisterTile& t) {
  const D d;
  const float* a[kR];
  V acc[kR][kV];
  LOCKSTEP_UNROLL for (int r = 0; r < kR; ++r) {
    a[r] = t.a[r];
    LOCKSTEP_UNROLL for (int v = 0; v < kV; ++v) acc[r][v] = hn::Zero(d);
  }
  const float* b = t.b;
  for (std::int64_t k = 0; k < t.depth; ++k) {
    const std::int64_t offset = t.a_offset[k];
    const float* row = kPacked ? b : b + t.b_offset[k];
    V bv[kV];
    LOCKSTEP_UNROLL for (int v = 0; v < kV; ++v) bv[v] = hn::LoadU(d, row + v * kLanes);
    LOCKSTEP_UNROLL for (int r = 0; r < kR; ++r) {
      const V av = hn::Set(d, a[r][offset]);
      LOCKSTEP_UNROLL for (int v = 0; v < kV; ++v) acc[r][v] = hn::MulAdd(av, bv[v], acc[r][v]);
    }
    if (kPacked) b += kV * kLanes;
  }
  LOCKSTEP_UNROLL for (int r = 0; r < kR; ++r) {
    LOCKSTEP_UNROLL for (int v = 0; v < kV; ++v) {
      float* c = t.c[r] + v * kLanes;
      V sum = t.add ? hn::Add(hn::LoadU(d, c), acc[r][v]) : acc[r][v];
      if (t.bias != nullptr) sum = hn::Add(sum, hn::LoadU(d, t.bias + v * kLanes));
      hn::StoreU(sum, d, c);
    }
  }
}

using TileFunction = void (*)(const RegisterTile&);

template <int kV, bool kPacked>
TileFunction tile_of_rows(int rows) {
  static constexpr TileFunction kTiles[] = {
    tile_of<1, kV, kPacked>,
    tile_of<2, kV, kPacked>,
    tile_of<3, kV, kPacked>,
    tile_of<4, kV, kPacked>,
    tile_of<5, kV, kPacked>,
    tile_of<6, kV, kPacked>,
#if HWY_MAX_BYTES != 32
    tile_of<7, kV, kPacked>,
    tile_of<8, kV, kPacked>,
    tile_of<9, kV, kPacked>,
    tile_of<10, kV, kPacked>,
    tile_of<11, kV, kPacked>,
    tile_of<12, kV, kPacked>,
#endif
  };
  return kTiles[rows - 1];
}

// The number of vectors that hold the columns.
int vectors_of(const RegisterTile& t) {
  const int vectors = (t.columns + kLanes - 1) / kLanes;
  return vectors <= 2 ? vectors : vectors <= 4 ? 4 : 8;
}

TileFunction function_for(const RegisterTile& t, int vectors) {
  if (t.b_offset == nullptr) {
    return vectors == 1 ? tile_of_rows<1, true>(t.rows) : tile_of_rows<2, true>(t.rows);
  }
  if (vectors == 8) return tile_of<1, 8, false>;
  if (vectors == 4) {
    return t.rows == 1   ? tile_of<1, 4, false>
           : t.rows == 2 ? tile_of<2, 4, false>
                         : tile_of<3, 4, false>;
  }
  return vectors == 1 ? tile_of_rows<1, false>(t.rows) : tile_of_rows<2, false>(t.rows);
}

void tile(const RegisterTile& t) {
  const int vectors = vectors_of(t);
  const TileFunction function = function_for(t, vectors);
  if (t.columns == vectors * kLanes) return function(t);
  through_whole_vectors<kRows, kRows * 2 * kLanes, 8 * kLanes>(t, vectors * kLanes, function);
}

void transpose(std::int64_t rows, std::int64_t columns, const float* from, std::int64_t from_row,
               float* to, std::int64_t to_row) {
  const hn::FixedTag<float, 4> d;
  const std::int64_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
  for (std::int64_t i = 0; i < whole_rows; i += 4) {
    for (std::int64_t j = 0; j < whole_columns; j += 4) {
      const float* p = from + i * from_row + j;
      float* q = to + j * to_row + i;
      const auto r0 = hn::LoadU(d, p), r1 = hn::LoadU(d, p + from_row);
      const auto r2 = hn::LoadU(d, p + 2 * from_row), r3 = hn::LoadU(d, p + 3 * from_row);
      const auto low02 = hn::InterleaveLower(d, r0, r2), low13 = hn::InterleaveLower(d, r1, r3);
      const auto high02 = hn::InterleaveUpper(d, r0, r2), high13 = hn::InterleaveUpper(d, r1, r3);
      hn::StoreU(hn::InterleaveLower(d, low02, low13), d, q);
      hn::StoreU(hn::InterleaveUpper(d, low02, low13), d, q + to_row);
      hn::StoreU(hn::InterleaveLower(d, high02, high13), d, q + 2 * to_row);
      hn::StoreU(hn::InterleaveUpper(d, high02, high13), d, q + 3 * to_row);
    }
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = i < whole_rows ? whole_columns : 0; j < columns; ++j) {
      to[j * to_row + i] = from[i * from_row + j];
    }
  }
}

}  // namespace

extern const TileKernels kTileKernels;
constexpr TileKernels kTileKernels = {kRows, kLanes, tile, transpose};

}  // namespace lockstep::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

LOCKSTEP_KERNELS(TileKernels, tile_kernels, kTileKernels, HWY_STATIC_DISPATCH(kTileKernels))
