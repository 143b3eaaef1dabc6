#include "support/ptx/operations.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "support/ptx/warp.h"

namespace lockstep::test::ptx {
namespace {

using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using f32 = float;
using f64 = double;

// A lane of a register: 16 bits lie in 32.
template <class T>
using Lane = std::conditional_t<sizeof(T) == 2, u32, T>;

// Of a predicate.
struct Flag {
  bool value;
};
template <class T>
inline constexpr int kBytes = std::is_same_v<T, Flag> ? 0 : static_cast<int>(sizeof(Lane<T>));

template <class T>
T get(const Lane<T>* lanes, int lane) {
  return static_cast<T>(lanes[lane]);
}

// A GPU has one NaN of binary32, and keeps no operand's.
f32 one_nan(f32 value) {
  return value == value ? value : std::bit_cast<f32>(0x7fffffffU);
}

template <class F, class Result, class... Operands, std::size_t... I>
void run_lanes(Warp& warp, const Instruction& i, u32 mask, std::index_sequence<I...>) {
  const F f{};
  if constexpr (std::is_same_v<Result, Flag>) {
    u32 bits = 0;
    for (int l = 0; l < kLanes; ++l)
      bits |= u32{f(get<Operands>(warp.lanes<Lane<Operands>>(i.slots[I + 1]), l)...).value} << l;
    u32& to = *warp.lanes<u32>(i.slots[0]);
    to = (to & ~mask) | (bits & mask);
  } else {
    auto* const to = warp.lanes<Lane<Result>>(i.slots[0]);
    const auto one = [&](int l) {
      const Result value = f(get<Operands>(warp.lanes<Lane<Operands>>(i.slots[I + 1]), l)...);
      if constexpr (sizeof(Result) == 2) {
        to[l] = static_cast<u16>(value);
      } else {
        to[l] = value;
      }
    };
    if (mask == kAllLanes) {
#pragma GCC ivdep
      for (int l = 0; l < kLanes; ++l) one(l);
    } else {
      for (int l = 0; l < kLanes; ++l)
        if ((mask >> l & 1U) != 0) one(l);
    }
  }
}

template <class F, class Result, class... Operands>
void run_plain(Warp& warp, const Instruction& i, u32 mask) {
  run_lanes<F, Result, Operands...>(warp, i, mask, std::index_sequence_for<Operands...>{});
}

template <class F, class Result, class... Operands>
Operation operation_of(Result (F::*)(Operands...) const) {
  return {&run_plain<F, Result, Operands...>, {kBytes<Result>}, {kBytes<Operands>...}};
}
template <class F>
Operation lanes(F) {
  return operation_of(&F::operator());
}

// Bits of predicates at once.
template <class F>
void run_flags(Warp& warp, const Instruction& i, u32 mask) {
  const u32 bits = F{}(*warp.lanes<u32>(i.slots[1]), *warp.lanes<u32>(i.slots[2]));
  u32& to = *warp.lanes<u32>(i.slots[0]);
  to = (to & ~mask) | (bits & mask);
}
template <class F>
Operation flags(F, std::size_t operands) {
  return {&run_flags<F>, {0}, std::vector<int>(operands, 0)};
}

template <class T>
void run_select(Warp& warp, const Instruction& i, u32 mask) {
  auto* const to = warp.lanes<T>(i.slots[0]);
  const auto *const a = warp.lanes<T>(i.slots[1]), *const b = warp.lanes<T>(i.slots[2]);
  const u32 flags = *warp.lanes<u32>(i.slots[3]);
  for (int l = 0; l < kLanes; ++l)
    if ((mask >> l & 1U) != 0) to[l] = (flags >> l & 1U) != 0 ? a[l] : b[l];
}
template <class T>
Operation select() {
  return {&run_select<T>, {static_cast<int>(sizeof(T))}, {sizeof(T), sizeof(T), 0}};
}

// mov.b64 of two halves, and back.
void run_pack(Warp& warp, const Instruction& i, u32 mask) {
  for (int l = 0; l < kLanes; ++l)
    if ((mask >> l & 1U) != 0)
      warp.lanes<u64>(i.slots[0])[l] =
          u64{warp.lanes<u32>(i.slots[2])[l]} << 32 | warp.lanes<u32>(i.slots[1])[l];
}
void run_unpack(Warp& warp, const Instruction& i, u32 mask) {
  for (int l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1U) == 0) continue;
    const u64 value = warp.lanes<u64>(i.slots[2])[l];
    warp.lanes<u32>(i.slots[0])[l] = static_cast<u32>(value);
    warp.lanes<u32>(i.slots[1])[l] = static_cast<u32>(value >> 32);
  }
}

// mov.b32 of two halves, and back: 16 bits lie in 32.
void run_pack_halves(Warp& warp, const Instruction& i, u32 mask) {
  for (int l = 0; l < kLanes; ++l)
    if ((mask >> l & 1U) != 0)
      warp.lanes<u32>(i.slots[0])[l] =
          warp.lanes<u32>(i.slots[2])[l] << 16 | (warp.lanes<u32>(i.slots[1])[l] & 0xffffU);
}
void run_unpack_halves(Warp& warp, const Instruction& i, u32 mask) {
  for (int l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1U) == 0) continue;
    const u32 value = warp.lanes<u32>(i.slots[2])[l];
    warp.lanes<u32>(i.slots[0])[l] = value & 0xffffU;
    warp.lanes<u32>(i.slots[1])[l] = value >> 16;
  }
}

u32 permuted(u32 a, u32 b, u32 selector) {
  const u64 both = u64{b} << 32 | a;
  u32 result = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 choice = selector >> 4 * i;
    u32 byte = static_cast<u32>(both >> 8 * (choice & 7U)) & 0xffU;
    if ((choice & 8U) != 0) byte = (byte & 0x80U) != 0 ? 0xffU : 0;
    result |= byte << 8 * i;
  }
  return result;
}

u32 inserted(u32 a, u32 b, u32 at, u32 length) {
  at &= 0xffU;
  length &= 0xffU;
  if (at > 31 || length == 0) return b;
  const u32 mask = (length >= 32 ? ~0U : (1U << length) - 1) << at;
  return (b & ~mask) | ((a << at) & mask);
}

// Toward zero, at most what there is; of NaN nothing, or the least where one side has 64 bits.
template <class To, class From>
To truncated(From value) {
  if (!(value == value))
    return sizeof(From) == 8 || sizeof(To) == 8 ? std::numeric_limits<To>::min() : 0;
  constexpr auto kLeast = static_cast<From>(std::numeric_limits<To>::min());
  if (value < kLeast) return std::numeric_limits<To>::min();
  if (value >= -kLeast) return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

using Table = std::unordered_map<std::string_view, Operation>;

// Names of types as in an instruction.
template <class T>
void add_comparisons(Table& table, std::initializer_list<std::array<std::string_view, 6>> names) {
  for (const auto& [eq, ne, lt, le, gt, ge] : names) {
    table[eq] = lanes([](T a, T b) { return Flag{a == b}; });
    table[ne] = lanes([](T a, T b) { return Flag{a != b}; });
    table[lt] = lanes([](T a, T b) { return Flag{a < b}; });
    table[le] = lanes([](T a, T b) { return Flag{a <= b}; });
    table[gt] = lanes([](T a, T b) { return Flag{a > b}; });
    table[ge] = lanes([](T a, T b) { return Flag{a >= b}; });
  }
}
#define COMPARISONS(type)                                                                \
  {                                                                                      \
    "setp.eq." type, "setp.ne." type, "setp.lt." type, "setp.le." type, "setp.gt." type, \
        "setp.ge." type                                                                  \
  }

template <class T>
void add_unordered(Table& table, const std::array<std::string_view, 8>& names) {
  table[names[0]] = lanes([](T a, T b) { return Flag{!(a < b || a > b)}; });
  table[names[1]] = lanes([](T a, T b) { return Flag{a != b}; });
  table[names[2]] = lanes([](T a, T b) { return Flag{!(a >= b)}; });
  table[names[3]] = lanes([](T a, T b) { return Flag{!(a > b)}; });
  table[names[4]] = lanes([](T a, T b) { return Flag{!(a <= b)}; });
  table[names[5]] = lanes([](T a, T b) { return Flag{!(a < b)}; });
  table[names[6]] = lanes([](T a, T b) { return Flag{a == a && b == b}; });
  table[names[7]] = lanes([](T a, T b) { return Flag{a != a || b != b}; });
}
#define UNORDERED(type)                                                                       \
  {                                                                                           \
    "setp.equ." type, "setp.neu." type, "setp.ltu." type, "setp.leu." type, "setp.gtu." type, \
        "setp.geu." type, "setp.num." type, "setp.nan." type                                  \
  }

void add_flags(Table& table) {
  table["and.pred"] = flags([](u32 a, u32 b) { return a & b; }, 2);
  table["or.pred"] = flags([](u32 a, u32 b) { return a | b; }, 2);
  table["xor.pred"] = flags([](u32 a, u32 b) { return a ^ b; }, 2);
  table["not.pred"] = flags([](u32 a, u32) { return ~a; }, 1);
  table["mov.pred"] = flags([](u32 a, u32) { return a; }, 1);
  add_comparisons<s16>(table, {COMPARISONS("s16")});
  add_comparisons<u16>(table, {COMPARISONS("u16"), COMPARISONS("b16")});
  add_comparisons<s32>(table, {COMPARISONS("s32")});
  add_comparisons<u32>(table, {COMPARISONS("u32"), COMPARISONS("b32")});
  add_comparisons<s64>(table, {COMPARISONS("s64")});
  add_comparisons<u64>(table, {COMPARISONS("u64"), COMPARISONS("b64")});
  add_comparisons<f32>(table, {COMPARISONS("f32")});
  add_comparisons<f64>(table, {COMPARISONS("f64")});
  // Of floats eq to ge are false where an operand is NaN; so is ne.
  table["setp.ne.f32"] = lanes([](f32 a, f32 b) { return Flag{a < b || a > b}; });
  table["setp.ne.f64"] = lanes([](f64 a, f64 b) { return Flag{a < b || a > b}; });
  add_unordered<f32>(table, UNORDERED("f32"));
  add_unordered<f64>(table, UNORDERED("f64"));
}

void add_integers(Table& table) {
  for (const auto* name : {"add.s32", "add.u32"})
    table[name] = lanes([](u32 a, u32 b) { return a + b; });
  table["add.s16"] = lanes([](u16 a, u16 b) { return static_cast<u16>(a + b); });
  for (const auto* name : {"add.s64", "add.u64"})
    table[name] = lanes([](u64 a, u64 b) { return a + b; });
  for (const auto* name : {"sub.s32", "sub.u32"})
    table[name] = lanes([](u32 a, u32 b) { return a - b; });
  for (const auto* name : {"sub.s64", "sub.u64"})
    table[name] = lanes([](u64 a, u64 b) { return a - b; });
  for (const auto* name : {"mul.lo.s32", "mul.lo.u32"})
    table[name] = lanes([](u32 a, u32 b) { return a * b; });
  for (const auto* name : {"mul.lo.s64", "mul.lo.u64"})
    table[name] = lanes([](u64 a, u64 b) { return a * b; });
  for (const auto* name : {"mad.lo.s32", "mad.lo.u32"})
    table[name] = lanes([](u32 a, u32 b, u32 c) { return a * b + c; });
  for (const auto* name : {"mad.lo.s64", "mad.lo.u64"})
    table[name] = lanes([](u64 a, u64 b, u64 c) { return a * b + c; });
  table["mul.wide.s32"] = lanes([](s32 a, s32 b) { return s64{a} * b; });
  table["mul.wide.u32"] = lanes([](u32 a, u32 b) { return u64{a} * b; });
  table["mul.wide.u16"] = lanes([](u16 a, u16 b) { return u32{a} * b; });
  table["mul.wide.s16"] = lanes([](s16 a, s16 b) { return s32{a} * b; });
  __extension__ using Wide = unsigned __int128;
  table["mul.hi.u64"] = lanes([](u64 a, u64 b) { return static_cast<u64>(Wide{a} * b >> 64); });
  table["mul.hi.s32"] = lanes([](s32 a, s32 b) { return static_cast<s32>(s64{a} * b >> 32); });
  table["mul.hi.u32"] = lanes([](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); });
  table["neg.s32"] = lanes([](u32 a) { return 0 - a; });
  table["neg.s64"] = lanes([](u64 a) { return 0 - a; });
  table["min.s32"] = lanes([](s32 a, s32 b) { return a < b ? a : b; });
  table["min.u32"] = lanes([](u32 a, u32 b) { return a < b ? a : b; });
  table["min.s64"] = lanes([](s64 a, s64 b) { return a < b ? a : b; });
  table["min.u64"] = lanes([](u64 a, u64 b) { return a < b ? a : b; });
  table["max.s32"] = lanes([](s32 a, s32 b) { return a < b ? b : a; });
  table["max.u32"] = lanes([](u32 a, u32 b) { return a < b ? b : a; });
  table["max.s64"] = lanes([](s64 a, s64 b) { return a < b ? b : a; });
  table["max.u64"] = lanes([](u64 a, u64 b) { return a < b ? b : a; });
  // By zero: what a GPU gives is not said, and lanes that are masked must not trap.
  table["div.s32"] = lanes([](s32 a, s32 b) {
    return b == 0 ? -1 : b == -1 ? static_cast<s32>(0U - static_cast<u32>(a)) : a / b;
  });
  table["div.u32"] = lanes([](u32 a, u32 b) { return b == 0 ? ~0U : a / b; });
  table["div.s64"] = lanes([](s64 a, s64 b) {
    return b == 0 ? -1 : b == -1 ? static_cast<s64>(0UL - static_cast<u64>(a)) : a / b;
  });
  table["div.u64"] = lanes([](u64 a, u64 b) { return b == 0 ? ~0UL : a / b; });
  table["rem.s32"] = lanes([](s32 a, s32 b) { return b == 0 || b == -1 ? 0 : a % b; });
  table["rem.u32"] = lanes([](u32 a, u32 b) { return b == 0 ? 0 : a % b; });
  table["rem.s64"] = lanes([](s64 a, s64 b) { return b == 0 || b == -1 ? 0 : a % b; });
  table["rem.u64"] = lanes([](u64 a, u64 b) { return b == 0 ? 0 : a % b; });
}

void add_bits(Table& table) {
  table["and.b32"] = lanes([](u32 a, u32 b) { return a & b; });
  table["and.b64"] = lanes([](u64 a, u64 b) { return a & b; });
  table["and.b16"] = lanes([](u16 a, u16 b) { return static_cast<u16>(a & b); });
  table["or.b32"] = lanes([](u32 a, u32 b) { return a | b; });
  table["or.b64"] = lanes([](u64 a, u64 b) { return a | b; });
  table["or.b16"] = lanes([](u16 a, u16 b) { return static_cast<u16>(a | b); });
  table["xor.b32"] = lanes([](u32 a, u32 b) { return a ^ b; });
  table["xor.b64"] = lanes([](u64 a, u64 b) { return a ^ b; });
  table["not.b32"] = lanes([](u32 a) { return ~a; });
  table["not.b64"] = lanes([](u64 a) { return ~a; });
  // More than there are bits: all of them.
  table["shl.b16"] = lanes([](u16 a, u32 n) { return static_cast<u16>(n > 15 ? 0 : a << n); });
  table["shl.b32"] = lanes([](u32 a, u32 n) { return n > 31 ? 0 : a << n; });
  table["shl.b64"] = lanes([](u64 a, u32 n) { return n > 63 ? 0 : a << n; });
  table["shr.u32"] = lanes([](u32 a, u32 n) { return n > 31 ? 0 : a >> n; });
  table["shr.u64"] = lanes([](u64 a, u32 n) { return n > 63 ? 0 : a >> n; });
  table["shr.u16"] = lanes([](u16 a, u32 n) { return static_cast<u16>(n > 15 ? 0 : a >> n); });
  table["shr.s16"] = lanes([](s16 a, u32 n) { return static_cast<s16>(a >> (n > 15 ? 15 : n)); });
  table["shr.s32"] = lanes([](s32 a, u32 n) { return a >> (n > 31 ? 31 : n); });
  table["shr.s64"] = lanes([](s64 a, u32 n) { return a >> (n > 63 ? 63 : n); });
  table["bfi.b32"] = lanes([](u32 a, u32 b, u32 at, u32 n) { return inserted(a, b, at, n); });
  table["prmt.b32"] = lanes([](u32 a, u32 b, u32 c) { return permuted(a, b, c); });
  for (const auto* name : {"mov.b32", "mov.u32", "mov.s32", "mov.f32"})
    table[name] = lanes([](u32 a) { return a; });
  for (const auto* name : {"mov.b64", "mov.u64", "mov.s64", "mov.f64", "cvta.to.global.u64",
                           "cvta.to.local.u64", "cvta.local.u64", "cvta.global.u64"})
    table[name] = lanes([](u64 a) { return a; });
  for (const auto* name : {"mov.b16", "mov.u16"}) table[name] = lanes([](u16 a) { return a; });
  table["mov.b32 {}"] = {&run_pack_halves, {4}, {4, 4}};
  table["mov.{} b32"] = {&run_unpack_halves, {4, 4}, {4}};
  table["mov.b64 {}"] = {&run_pack, {8}, {4, 4}};
  table["mov.{} b64"] = {&run_unpack, {4, 4}, {8}};
  for (const auto* name : {"selp.b32", "selp.u32", "selp.s32", "selp.f32", "selp.b16", "selp.u16"})
    table[name] = select<u32>();
  for (const auto* name : {"selp.b64", "selp.u64", "selp.s64", "selp.f64"})
    table[name] = select<u64>();
}

void add_floats(Table& table) {
  table["add.rn.f32"] = lanes([](f32 a, f32 b) { return one_nan(a + b); });
  table["add.rn.f64"] = lanes([](f64 a, f64 b) { return a + b; });
  table["sub.rn.f32"] = lanes([](f32 a, f32 b) { return one_nan(a - b); });
  table["sub.rn.f64"] = lanes([](f64 a, f64 b) { return a - b; });
  table["mul.rn.f32"] = lanes([](f32 a, f32 b) { return one_nan(a * b); });
  table["mul.rn.f64"] = lanes([](f64 a, f64 b) { return a * b; });
  table["div.rn.f32"] = lanes([](f32 a, f32 b) { return one_nan(a / b); });
  table["div.rn.f64"] = lanes([](f64 a, f64 b) { return a / b; });
  table["rcp.rn.f32"] = lanes([](f32 a) { return one_nan(1 / a); });
  table["sqrt.rn.f32"] = lanes([](f32 a) { return one_nan(__builtin_sqrtf(a)); });
  table["fma.rn.f32"] = lanes([](f32 a, f32 b, f32 c) { return one_nan(__builtin_fmaf(a, b, c)); });
  table["fma twice"] = lanes([](f32 a, f32 b, f32 c) { return one_nan(one_nan(a * b) + c); });
  table["fma.rn.f64"] = lanes([](f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); });
  table["neg.f32"] = lanes([](u32 a) { return a ^ 0x80000000U; });
  table["neg.f64"] = lanes([](u64 a) { return a ^ 0x8000000000000000U; });
  table["abs.f32"] = lanes([](u32 a) { return a & 0x7fffffffU; });
  table["abs.f64"] = lanes([](u64 a) { return a & 0x7fffffffffffffffU; });
  table["copysign.f32"] =
      lanes([](u32 sign, u32 a) { return (sign & 0x80000000U) | (a & 0x7fffffffU); });
  // NaN loses; +0 is more than -0.
  table["min.f32"] = lanes([](f32 a, f32 b) {
    if (a == b) return std::signbit(a) ? a : b;
    return one_nan(a != a || b < a ? b : a);
  });
  table["max.f32"] = lanes([](f32 a, f32 b) {
    if (a == b) return std::signbit(a) ? b : a;
    return one_nan(a != a || b > a ? b : a);
  });
  table["cvt.f64.f32"] = lanes([](f32 a) { return f64{a}; });
  table["cvt.rn.f32.f64"] = lanes([](f64 a) { return one_nan(static_cast<f32>(a)); });
  table["cvt.rn.f32.u16"] = lanes([](u16 a) { return static_cast<f32>(a); });
  table["cvt.rn.f32.s32"] = lanes([](s32 a) { return static_cast<f32>(a); });
  table["cvt.rn.f32.u32"] = lanes([](u32 a) { return static_cast<f32>(a); });
  table["cvt.rn.f32.s64"] = lanes([](s64 a) { return static_cast<f32>(a); });
  table["cvt.rn.f32.u64"] = lanes([](u64 a) { return static_cast<f32>(a); });
  table["cvt.rn.f64.s32"] = lanes([](s32 a) { return static_cast<f64>(a); });
  table["cvt.rn.f64.u32"] = lanes([](u32 a) { return static_cast<f64>(a); });
  table["cvt.rn.f64.s64"] = lanes([](s64 a) { return static_cast<f64>(a); });
  table["cvt.rn.f64.u64"] = lanes([](u64 a) { return static_cast<f64>(a); });
  table["cvt.rzi.s32.f32"] = lanes([](f32 a) { return truncated<s32>(a); });
  table["cvt.rzi.s64.f64"] = lanes([](f64 a) { return truncated<s64>(a); });
  table["cvt.rzi.s32.f64"] = lanes([](f64 a) { return truncated<s32>(a); });
  table["cvt.s64.s32"] = lanes([](s32 a) { return s64{a}; });
  table["cvt.s64.s32 wide"] = lanes([](u64 a) { return s64{static_cast<s32>(a)}; });
  table["cvt.u64.u32 wide"] = lanes([](u64 a) { return u64{static_cast<u32>(a)}; });
  table["cvt.u64.u32"] = lanes([](u32 a) { return u64{a}; });
  for (const auto* name : {"cvt.u32.u64", "cvt.s32.s64", "cvt.u32.s64"})
    table[name] = lanes([](u64 a) { return static_cast<u32>(a); });
  for (const auto* name : {"cvt.u16.u32", "cvt.u16.s32"})
    table[name] = lanes([](u32 a) { return static_cast<u16>(a); });
  table["cvt.u32.u16"] = lanes([](u16 a) { return u32{a}; });
  table["cvt.s32.s16"] = lanes([](s16 a) { return s32{a}; });
  table["cvt.u64.u16"] = lanes([](u16 a) { return u64{a}; });
  for (const auto* name : {"cvt.u16.u8", "cvt.u32.u8"})
    table[name] = lanes([](u32 a) { return a & 0xffU; });
  for (const auto* name : {"cvt.s16.s8", "cvt.s32.s8"})
    table[name] = lanes([](u32 a) { return s32{static_cast<std::int8_t>(a)}; });
}

Table all() {
  Table table;
  for (auto* const add : {&add_flags, &add_integers, &add_bits, &add_floats}) add(table);
  return table;
}

}  // namespace

const Operation* find_operation(std::string_view name) {
  static const Table table = all();
  if (fma_is_broken && name == "fma.rn.f32") name = "fma twice";
  const auto found = table.find(name);
  return found == table.end() ? find_memory_operation(name) : &found->second;
}

}  // namespace lockstep::test::ptx
