#include <cstring>
#include <mutex>
#include <unordered_map>

#include "support/ptx/operations.h"
#include "support/ptx/warp.h"

namespace lockstep::test::ptx {
namespace {

// Flat: global, or not said. A GPU interleaves its threads' local memory, so profiles leave it out.
enum class Space { kFlat, kLocal, kShared, kParameter };

// An item in memory, and in a lane of a register.
template <class T>
using Lane = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class Wide, class T>
Wide widened(const char* from) {
  T item;
  std::memcpy(&item, from, sizeof item);
  return static_cast<Wide>(item);
}
template <class T>
void narrowed(std::uint64_t value, char* to) {
  const T item = static_cast<T>(value);
  std::memcpy(to, &item, sizeof item);
}

// visit(lane, bytes) with the address of each lane of the mask.
template <Space kSpace, bool kWrites, class Visit>
void each_lane(Warp& warp, const Instruction& i, Slot address, std::size_t bytes,
               std::uint32_t mask, const Visit& visit) {
  const auto* const flat = warp.lanes<std::uint64_t>(address);
  constexpr bool kAddress = kSpace == Space::kFlat || kSpace == Space::kLocal;
  char* places[kLanes];
  if (kAddress) warp.find(flat, i.offset, bytes, mask, places);
  if (kSpace == Space::kFlat && !kWrites) warp.reads(places, bytes, mask);
  if (Counts* const counts = warp.counts(); counts != nullptr) {
    if (kSpace == Space::kFlat) count_global(*counts, flat, bytes, mask);
    if (kSpace == Space::kShared)
      count_shared(*counts, warp.lanes<std::uint32_t>(address), bytes, mask);
  }
  for (int l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1U) == 0) continue;
    if constexpr (kAddress) {
      visit(l, places[l]);
    } else if constexpr (kSpace == Space::kParameter) {
      visit(l, warp.variable(i.variable, l) + i.offset);
    } else {
      const std::uint32_t at =
          warp.lanes<std::uint32_t>(address)[l] + static_cast<std::uint32_t>(i.offset);
      SharedMemory& shared = warp.shared();
      const std::byte* const found = kWrites ? shared.write(at, bytes, warp.thread(l))
                                             : shared.read(at, bytes, warp.thread(l));
      if (found == nullptr) warp.fail(shared.problem());
      visit(l, const_cast<char*>(reinterpret_cast<const char*>(found)));
    }
  }
}

template <Space kSpace, class T, int kItems, class Wide>
void load(Warp& warp, const Instruction& i, std::uint32_t mask) {
  // Of all lanes first: a result may be the address.
  Wide values[kItems][kLanes];
  each_lane<kSpace, false>(
      warp, i, i.slots[kItems], sizeof(T) * kItems, mask, [&](int l, const char* from) {
        for (int n = 0; n < kItems; ++n)
          values[n][l] = widened<Wide, T>(from + sizeof(T) * static_cast<std::size_t>(n));
      });
  for (std::size_t n = 0; n < kItems; ++n) {
    auto* const to = warp.lanes<Wide>(i.slots[n]);
    for (int l = 0; l < kLanes; ++l)
      if ((mask >> l & 1U) != 0) to[l] = values[n][l];
  }
}

template <Space kSpace, class T, int kItems, class Wide>
void store(Warp& warp, const Instruction& i, std::uint32_t mask) {
  each_lane<kSpace, true>(warp, i, i.slots[0], sizeof(T) * kItems, mask, [&](int l, char* to) {
    char item[sizeof(T) * kItems];
    for (std::size_t n = 0; n < kItems; ++n)
      narrowed<T>(warp.lanes<Wide>(i.slots[n + 1])[l], item + sizeof(T) * n);
    if (kSpace == Space::kFlat) warp.writes(to, item, sizeof item, l);
    std::memcpy(to, item, sizeof item);
  });
}

template <Space kSpace, class T, int kItems>
Operation of_items(bool loads) {
  const int address = kSpace == Space::kShared ? 4 : 8;
  Operation made;
  made.run = loads ? &load<kSpace, T, kItems, Lane<T>> : &store<kSpace, T, kItems, Lane<T>>;
  made.address_first = true;
  made.parameter = kSpace == Space::kParameter;
  made.operands = {address};
  std::vector<int>& items = loads ? made.results : made.operands;
  items.insert(items.end(), kItems, static_cast<int>(sizeof(Lane<T>)));
  return made;
}

// One item of 32 bits, and a register of 64.
template <Space kSpace>
Operation wide(bool loads, std::string_view type) {
  Operation made = of_items<kSpace, std::uint32_t, 1>(loads);
  if (!loads) {
    made.run = &store<kSpace, std::uint32_t, 1, std::uint64_t>;
    made.operands.back() = 8;
    return made;
  }
  made.run = type == "s32 wide" ? &load<kSpace, std::int32_t, 1, std::uint64_t>
                                : &load<kSpace, std::uint32_t, 1, std::uint64_t>;
  made.results = {8};
  return made;
}

template <Space kSpace, class T>
Operation of_type(bool loads, int items) {
  switch (items) {
    case 1:
      return of_items<kSpace, T, 1>(loads);
    case 2:
      return of_items<kSpace, T, 2>(loads);
    default:
      return of_items<kSpace, T, 4>(loads);
  }
}

template <Space kSpace>
Operation of_space(bool loads, int items, std::string_view type) {
  if (type.ends_with("32 wide")) return wide<kSpace>(loads, type);
  if (type == "u8" || type == "b8") return of_type<kSpace, std::uint8_t>(loads, items);
  if (type == "s8") return of_type<kSpace, std::int8_t>(loads, items);
  if (type == "u16" || type == "b16") return of_type<kSpace, std::uint16_t>(loads, items);
  if (type == "s16") return of_type<kSpace, std::int16_t>(loads, items);
  if (type.ends_with("32")) return of_type<kSpace, std::uint32_t>(loads, items);
  if (type.ends_with("64")) return of_type<kSpace, std::uint64_t>(loads, items);
  return {};
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// ld or st, a space or none, .nc or not, a vector or not, a type.
Operation of_name(std::string_view name) {
  const bool loads = take(name, "ld");
  if (!loads && !take(name, "st")) return {};
  auto space = Space::kFlat;
  if (take(name, ".shared")) {
    space = Space::kShared;
  } else if (take(name, ".param")) {
    space = Space::kParameter;
  } else if (take(name, ".local")) {
    space = Space::kLocal;
  } else {
    take(name, ".global");
  }
  take(name, ".nc");
  const int items = take(name, ".v2") ? 2 : take(name, ".v4") ? 4 : 1;
  if (!take(name, ".")) return {};
  switch (space) {
    case Space::kLocal:
      return of_space<Space::kLocal>(loads, items, name);
    case Space::kShared:
      return of_space<Space::kShared>(loads, items, name);
    case Space::kParameter:
      return of_space<Space::kParameter>(loads, items, name);
    default:
      return of_space<Space::kFlat>(loads, items, name);
  }
}

// The size of the source is the last operand: what it lacks is zeros.
void copy_async(Warp& warp, const Instruction& i, std::uint32_t mask) {
  if (Counts* const counts = warp.counts(); counts != nullptr) {
    count_shared(*counts, warp.lanes<std::uint32_t>(i.slots[0]), 16, mask);
    count_global(*counts, warp.lanes<std::uint64_t>(i.slots[1]), 16, mask);
  }
  for (int l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1U) == 0) continue;
    const std::uint32_t to =
        warp.lanes<std::uint32_t>(i.slots[0])[l] + static_cast<std::uint32_t>(i.offset);
    const std::uint32_t bytes = warp.lanes<std::uint32_t>(i.slots[3])[l];
    const std::uint64_t* const from = warp.lanes<std::uint64_t>(i.slots[1]);
    if (from[l] % 16 != 0) warp.fail("a source of cp.async that is not aligned");
    char* places[kLanes] = {};
    if (bytes > 0) {
      warp.find(from, 0, bytes, 1U << l, places);
      warp.reads(places, bytes, 1U << l);
    }
    warp.copy_async(l, to, places[l], bytes);
  }
}
void commit(Warp& warp, const Instruction&, std::uint32_t mask) {
  warp.commit(mask);
}
void wait(Warp& warp, const Instruction& i, std::uint32_t mask) {
  warp.wait(mask, warp.lanes<std::int32_t>(i.slots[0])[0]);
}

}  // namespace

const Operation* find_memory_operation(std::string_view name) {
  static std::mutex mutex;
  static auto& found = *new std::unordered_map<std::string, Operation>{
      {"cp.async.cg.shared.global", {&copy_async, {}, {4, 8, 4, 4}, true}},
      {"cp.async.ca.shared.global", {&copy_async, {}, {4, 8, 4, 4}, true}},
      {"cp.async.commit_group", {&commit, {}, {}}},
      {"cp.async.wait_group", {&wait, {}, {4}}}};
  const std::scoped_lock lock(mutex);
  const auto [at, is_new] = found.try_emplace(std::string(name));
  if (is_new) at->second = of_name(name);
  return at->second.run == nullptr ? nullptr : &at->second;
}

}  // namespace lockstep::test::ptx
