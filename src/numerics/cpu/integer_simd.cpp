#include "lockstep/numerics/spec/integer.h"
#include "numerics/cpu/integer_tile.h"
#include "numerics/cpu/isa_tables.h"
#include "numerics/cpu/ragged_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/cpu/integer_simd.cpp"
#include "numerics/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::numerics::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::ScalableTag<float>;
using DI = hn::ScalableTag<std::int32_t>;
using DS = hn::ScalableTag<std::int16_t>;
using DD = hn::ScalableTag<double>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;
using VD = hn::Vec<DD>;

constexpr int kLanes = HWY_MAX_BYTES / 4;
constexpr int kRows = kLanes == 8 ? 6 : kLanes == 4 ? 8 : 12;
constexpr std::int64_t kExactPairs = spec::kExactProducts / 2;

// GCC keeps the accumulators in registers only if these loops are unrolled before it looks.
#define LOCKSTEP_UNROLL _Pragma("GCC unroll 16")

HWY_INLINE VI broadcast_pair(const std::int16_t* a) {
  std::int32_t pair;
  __builtin_memcpy(&pair, a, sizeof pair);
  return hn::Set(DI(), pair);
}

// sum[v] += a[0] * b[v].first + a[1] * b[v].second, in each lane's 32 bits.
struct PairProducts {
  template <int kV>
  static HWY_INLINE void add(VI (&sum)[kV], const std::int16_t* a, const VI (&b)[kV]) {
#if defined(__x86_64__)
    // GCC 12 loads all broadcasts of a step first, and spills the sums.
    if constexpr (kV == 2) {
      VI pair, product;
      asm("vpbroadcastd %[a], %[pair]\n\t"
          "vpmaddwd %[b0], %[pair], %[product]\n\t"
          "vpmaddwd %[b1], %[pair], %[pair]\n\t"
          "vpaddd %[product], %[s0], %[s0]\n\t"
          "vpaddd %[pair], %[s1], %[s1]"
          : [s0] "+v"(sum[0].raw), [s1] "+v"(sum[1].raw), [pair] "=&v"(pair.raw),
            [product] "=&v"(product.raw)
          : [a] "m"(*reinterpret_cast<const std::int16_t(*)[2]>(a)), [b0] "v"(b[0].raw),
            [b1] "v"(b[1].raw));
      return;
    }
#endif
    const VI pairs = broadcast_pair(a);
    LOCKSTEP_UNROLL for (int v = 0; v < kV; ++v) sum[v] = add(sum[v], pairs, b[v]);
  }

 private:
  static HWY_INLINE VI add(VI sum, VI a, VI b) {
    const DS d;
    const auto a16 = hn::BitCast(d, a), b16 = hn::BitCast(d, b);
#if HWY_TARGET == HWY_NEON
    return hn::Add(sum, VI(vpaddq_s32(vmull_s16(vget_low_s16(a16.raw), vget_low_s16(b16.raw)),
                                      vmull_high_s16(a16.raw, b16.raw))));
#else
    VI none = hn::Zero(DI());  // on x86 nothing is added to it
    return hn::ReorderWidenMulAccumulate(DI(), a16, b16, sum, none);
#endif
  }
};

#if HWY_TARGET == HWY_AVX3
// The same in one instruction. GCC 12 spills the sums of its intrinsic, not those of this.
struct VnniProducts {
  template <int kV>
  static HWY_INLINE void add(VI (&sum)[kV], const std::int16_t* a, const VI (&b)[kV]) {
    const VI pairs = broadcast_pair(a);
    LOCKSTEP_UNROLL for (int v = 0; v < kV; ++v) {
      asm("vpdpwssd %2, %1, %0" : "+v"(sum[v].raw) : "v"(pairs.raw), "v"(b[v].raw));
    }
  }
};
#endif

// acc = the sums of `pairs` pairs, kExactPairs at most.
template <class Products, int kR, int kV>
HWY_INLINE void accumulate(const std::int16_t* const* from, const std::int64_t* offsets,
                           const std::int16_t* b, std::int64_t pairs, VI (&acc)[kR][kV]) {
  const DI d;
  const std::int16_t* a[kR];
  LOCKSTEP_UNROLL for (int r = 0; r < kR; ++r) {
    a[r] = from[r];
    LOCKSTEP_UNROLL for (int v = 0; v < kV; ++v) acc[r][v] = hn::Zero(d);
  }
  for (std::int64_t p = 0; p < pairs; ++p) {
    const std::int64_t offset = offsets[p];
    VI bv[kV];
    LOCKSTEP_UNROLL for (int v = 0; v < kV; ++v) {
      bv[v] = hn::LoadU(d, reinterpret_cast<const std::int32_t*>(b) + v * kLanes);
    }
    LOCKSTEP_UNROLL for (int r = 0; r < kR; ++r) Products::add(acc[r], a[r] + offset, bv);
    b += 2 * kV * kLanes;
  }
}

HWY_INLINE void finish(const IntegerTile& t, int v, VF value, float* c) {
  const DF d;
  if (t.add) value = hn::Add(hn::LoadU(d, c), value);
  if (t.bias != nullptr) value = hn::Add(value, hn::LoadU(d, t.bias + v * kLanes));
  hn::StoreU(value, d, c);
}

// Sums that fit 32 bits, results that are normal: the conversion is the one rounding, the factor is
// exact.
template <class Products, int kR, int kV>
void small_tile(const IntegerTile& t) {
  VI acc[kR][kV];
  accumulate<Products, kR, kV>(t.a, t.a_offset, t.b, t.pairs, acc);
  const DF d;
  const VF factor = hn::Set(d, static_cast<float>(spec::power_of_two(t.exponent)));
  LOCKSTEP_UNROLL for (int r = 0; r < kR; ++r) {
    LOCKSTEP_UNROLL for (int v = 0; v < kV; ++v) {
      finish(t, v, hn::Mul(hn::ConvertTo(d, acc[r][v]), factor), t.c[r] + v * kLanes);
    }
  }
}

// All others: binary64 holds every sum and every product with a power of two.
template <class Products, int kR, int kV>
void large_tile(const IntegerTile& t) {
  const DD d;
  const hn::Half<DI> half;
  const hn::Half<DF> half_floats;
  double sums[kR][kV * kLanes];
  const std::int16_t* b = t.b;
  std::int64_t first = 0;
  do {
    const std::int64_t pairs = t.pairs - first < kExactPairs ? t.pairs - first : kExactPairs;
    VI acc[kR][kV];
    accumulate<Products, kR, kV>(t.a, t.a_offset + first, b, pairs, acc);
    b += 2 * kV * kLanes * pairs;
    LOCKSTEP_UNROLL for (int r = 0; r < kR; ++r) {
      LOCKSTEP_UNROLL for (int v = 0; v < kV; ++v) {
        double* to = sums[r] + v * kLanes;
        VD low = hn::PromoteTo(d, hn::LowerHalf(half, acc[r][v]));
        VD high = hn::PromoteTo(d, hn::UpperHalf(half, acc[r][v]));
        if (first > 0) {
          low = hn::Add(low, hn::LoadU(d, to));
          high = hn::Add(high, hn::LoadU(d, to + kLanes / 2));
        }
        hn::StoreU(low, d, to);
        hn::StoreU(high, d, to + kLanes / 2);
      }
    }
    first += pairs;
  } while (first < t.pairs);
  const VD factor = hn::Set(d, spec::power_of_two(t.exponent));
  for (int r = 0; r < kR; ++r) {
    for (int v = 0; v < kV; ++v) {
      const double* sum = sums[r] + v * kLanes;
      const auto low = hn::DemoteTo(half_floats, hn::Mul(hn::LoadU(d, sum), factor));
      const auto high = hn::DemoteTo(half_floats, hn::Mul(hn::LoadU(d, sum + kLanes / 2), factor));
      finish(t, v, hn::Combine(DF(), high, low), t.c[r] + v * kLanes);
    }
  }
}

// A sum that fits is below 2^31, and at least 1 if it is not 0.
template <class Products, int kR, int kV>
void tile_of(const IntegerTile& t) {
  if (t.fits && t.exponent >= -126 && t.exponent <= 96) {
    small_tile<Products, kR, kV>(t);
  } else {
    large_tile<Products, kR, kV>(t);
  }
}

using TileFunction = void (*)(const IntegerTile&);

template <class Products, int kV>
TileFunction tile_of_rows(int rows) {
  static constexpr TileFunction kTiles[] = {
    tile_of<Products, 1, kV>,
    tile_of<Products, 2, kV>,
    tile_of<Products, 3, kV>,
    tile_of<Products, 4, kV>,
    tile_of<Products, 5, kV>,
    tile_of<Products, 6, kV>,
#if HWY_MAX_BYTES != 32
    tile_of<Products, 7, kV>,
    tile_of<Products, 8, kV>,
#endif
#if HWY_MAX_BYTES == 64
    tile_of<Products, 9, kV>,
    tile_of<Products, 10, kV>,
    tile_of<Products, 11, kV>,
    tile_of<Products, 12, kV>,
#endif
  };
  return kTiles[rows - 1];
}

template <class Products>
void tile(const IntegerTile& t) {
  const int vectors = t.columns > kLanes ? 2 : 1;
  const TileFunction function =
      vectors == 1 ? tile_of_rows<Products, 1>(t.rows) : tile_of_rows<Products, 2>(t.rows);
  if (t.columns == vectors * kLanes) return function(t);
  through_whole_vectors<kRows, kRows * 2 * kLanes, 2 * kLanes>(t, vectors * kLanes, function);
}

void interleave(std::int64_t n, const std::int16_t* a, const std::int16_t* b, std::int16_t* to) {
  const hn::FixedTag<std::int16_t, 8> d;
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const auto first = hn::LoadU(d, a + i);
    const auto second = b == nullptr ? hn::Zero(d) : hn::LoadU(d, b + i);
    hn::StoreU(hn::InterleaveLower(d, first, second), d, to + 2 * i);
    hn::StoreU(hn::InterleaveUpper(d, first, second), d, to + 2 * i + 8);
  }
  for (; i < n; ++i) {
    to[2 * i] = a[i];
    to[2 * i + 1] = b == nullptr ? std::int16_t{0} : b[i];
  }
}

std::int64_t column_sum(std::int64_t pairs, std::int64_t width, const std::int16_t* b) {
  const DI d;
  const VI most_of_column = hn::Set(d, kMostOfColumn);
  VI sums[2] = {hn::Zero(d), hn::Zero(d)};
  VI most = hn::Zero(d);
  const std::int64_t vectors = width / kLanes;
  for (std::int64_t p = 0; p < pairs; ++p) {
    for (std::int64_t v = 0; v < vectors; ++v, b += 2 * kLanes) {
      const auto both = hn::LoadU(d, reinterpret_cast<const std::int32_t*>(b));
      const auto second = hn::ShiftRight<16>(both);
      const auto first = hn::ShiftRight<16>(hn::ShiftLeft<16>(both));
      sums[v] = hn::Add(sums[v], hn::Add(hn::Abs(first), hn::Abs(second)));
    }
    // Sums of many could come round again.
    most = hn::Max(most, hn::Max(sums[0], sums[1]));
    if (p % 4096 == 4095 && !hn::AllFalse(d, hn::Gt(most, most_of_column))) break;
  }
  std::int32_t lanes[kLanes];
  hn::StoreU(most, d, lanes);
  std::int64_t all = 0;
  for (const std::int32_t lane : lanes) all = lane > all ? lane : all;
  return all;
}

std::uint32_t largest(std::int64_t n, const float* x) {
  const DI d;
  const DF floats;
  const VI mask = hn::Set(d, 0x7fffffff);
  VI most[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    LOCKSTEP_UNROLL for (int v = 0; v < 4; ++v) {
      const VI bits = hn::BitCast(d, hn::LoadU(floats, x + i + v * kLanes));
      most[v] = hn::Max(most[v], hn::And(bits, mask));
    }
  }
  std::int32_t lanes[kLanes];
  hn::StoreU(hn::Max(hn::Max(most[0], most[1]), hn::Max(most[2], most[3])), d, lanes);
  std::uint32_t all = 0;
  for (const std::int32_t lane : lanes) {
    if (static_cast<std::uint32_t>(lane) > all) all = static_cast<std::uint32_t>(lane);
  }
  for (; i < n; ++i) {
    if (spec::magnitude(x[i]) > all) all = spec::magnitude(x[i]);
  }
  return all;
}

void round(std::int64_t rows, std::int64_t c, float factor, const float* x, std::int64_t q_row,
           std::int16_t* q) {
  const DF d;
  const hn::Rebind<std::int16_t, DF> integers;
  const VF by = hn::Set(d, factor);
  const VI most = hn::Set(DI(), spec::kLargestQ), least = hn::Set(DI(), -spec::kLargestQ);
  for (std::int64_t r = 0; r < rows; ++r, x += c, q += q_row) {
    std::int64_t i = 0;
    for (; i + kLanes <= c; i += kLanes) {
      const VI nearest = hn::NearestInt(hn::Mul(hn::LoadU(d, x + i), by));
      hn::StoreU(hn::DemoteTo(integers, hn::Max(hn::Min(nearest, most), least)), integers, q + i);
    }
    for (; i < c; ++i) q[i] = spec::rounded(x[i], factor);
  }
}

}  // namespace

extern const IntegerKernels kIntegerKernels;
constexpr IntegerKernels kIntegerKernels = {
    kRows, kLanes, tile<PairProducts>, interleave, column_sum, largest, round};
#if HWY_TARGET == HWY_AVX3
extern const IntegerKernels kVnniKernels;
constexpr IntegerKernels kVnniKernels = {
    kRows, kLanes, tile<VnniProducts>, interleave, column_sum, largest, round};
#endif

}  // namespace lockstep::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep::numerics {
const IntegerKernels& integer_kernels([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512Vnni) return N_AVX3::kVnniKernels;
#endif
  return LOCKSTEP_TABLE(isa, kIntegerKernels, HWY_STATIC_DISPATCH(kIntegerKernels));
}
}  // namespace lockstep::numerics
#endif
