// Private: the update for CUDA (update.h): a block a tile, which hashes what it reads and writes.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/numerics/spec/update.h"
#include "numerics/cuda/leaf-inl.h"

namespace lockstep::numerics::cuda {

// What each rule does to an element: of its parameter, x[0], and of its slots, which follow.
struct KeepRule {
  static constexpr int kSlots = 0;  // nothing is written: it is not called
};
struct AdamWRule {
  static constexpr int kSlots = 2;
  AdamW s;
  LOCKSTEP_DEVICE void operator()(float g, float* x) const { spec::adamw(s, g, x[0], x[1], x[2]); }
};
struct SgdRule {
  static constexpr int kSlots = 1;
  Sgd s;
  LOCKSTEP_DEVICE void operator()(float g, float* x) const { spec::sgd(s, g, x[0], x[1]); }
};
struct LionRule {
  static constexpr int kSlots = 1;
  Lion s;
  LOCKSTEP_DEVICE void operator()(float g, float* x) const { spec::lion(s, g, x[0], x[1]); }
};

// A tile of a tensor: arrays are p, slots, averages, in this order.
struct UpdatedTile {
  const float* g;
  std::int64_t n;
  std::int64_t first_array, arrays;
};
struct UpdatedArray {
  float* values;
  float one_minus_decay;  // of an average
  bool before, after;     // leaves that somebody wants
};

// Each value is read once and written once: its thread hashes what it has read, and what it is
// about to write.
template <class Rule>
struct UpdateKernel {
  Rule rule;
  const UpdatedTile* tiles;
  const UpdatedArray* arrays;
  DeviceLeafKeys keys;
  hash::Leaf* before;  // one an array of `arrays`; what nobody wants is not written
  hash::Leaf* after;
  int* not_finite;  // of each tile: whether something that was written is not

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const UpdatedTile tile = tiles[t.block()];
    if (t.thread() == 0) not_finite[t.block()] = 0;
    t.barrier();
    constexpr int kOfRule = 1 + Rule::kSlots;
    constexpr bool kWritten = Rule::kSlots > 0;
    pass<kOfRule, kWritten>(t, tile, 0, [&](std::int64_t i, float* x) {
      if constexpr (kWritten) rule(tile.g[i], x);
    });
    const float* const p = arrays[tile.first_array].values;  // what this thread has written
    for (std::int64_t k = kOfRule; k < tile.arrays; ++k) {
      const float one_minus_decay = arrays[tile.first_array + k].one_minus_decay;
      pass<1, true>(t, tile, k,
                    [&](std::int64_t i, float* x) { spec::average(one_minus_decay, p[i], x[0]); });
    }
  }

  // change(i, x) for each element i of the tile: x are those of kArrays arrays.
  template <int kArrays, bool kWritten, class Thread, class Change>
  LOCKSTEP_DEVICE void pass(Thread& t, const UpdatedTile& tile, std::int64_t first,
                            const Change& change) const {
    first += tile.first_array;
    UpdatedArray all[kArrays];
    LOCKSTEP_UNROLL
    for (int k = 0; k < kArrays; ++k) all[k] = arrays[first + k];
    LeafSums read[kArrays], written[kArrays];
    bool finite = true;
    for (std::int64_t i = 2 * t.thread(); i < tile.n; i += 2 * t.threads()) {
      const bool two = i + 1 < tile.n;
      float x[2][kArrays];
      LOCKSTEP_UNROLL
      for (int k = 0; k < kArrays; ++k) {
        const Pair pair = load(all[k].values + i, two);
        x[0][k] = pair.of[0];
        x[1][k] = pair.of[1];
        if (all[k].before) add(pair, i, read[k]);
      }
      change(i, x[0]);
      if (two) change(i + 1, x[1]);
      LOCKSTEP_UNROLL
      for (int k = 0; k < kArrays; ++k) {
        const Pair pair{{x[0][k], x[1][k]}};
        if (kWritten) store(pair, two, all[k].values + i);
        if (all[k].after) add(pair, i, written[k]);
        finite = finite && is_finite(pair.of[0]) && is_finite(pair.of[1]);
      }
    }
    if (!finite) not_finite[t.block()] = 1;  // whoever writes, it is a 1
    LOCKSTEP_UNROLL
    for (int k = 0; k < kArrays; ++k) {
      if (all[k].before) finish(t, tile, read[k], before + first + k);
      if (all[k].after) finish(t, tile, written[k], after + first + k);
    }
  }

 private:
  using Pair = Vector<float, 2>;  // the second is 0 where there is none

  LOCKSTEP_DEVICE static bool aligned(const float* at) {
    return reinterpret_cast<std::uintptr_t>(at) % sizeof(Pair) == 0;
  }
  LOCKSTEP_DEVICE static Pair load(const float* from, bool two) {
    if (two && aligned(from)) return *reinterpret_cast<const Pair*>(from);
    return {{from[0], two ? from[1] : 0.0F}};
  }
  LOCKSTEP_DEVICE static void store(const Pair& pair, bool two, float* to) {
    if (two && aligned(to)) {
      *reinterpret_cast<Pair*>(to) = pair;
    } else {
      to[0] = pair.of[0];
      if (two) to[1] = pair.of[1];
    }
  }
  LOCKSTEP_DEVICE void add(const Pair& pair, std::int64_t i, LeafSums& sums) const {
    sums.add(spec::bit_cast<std::uint32_t>(pair.of[0]), spec::bit_cast<std::uint32_t>(pair.of[1]),
             keys.words + i);
  }
  template <class Thread>
  LOCKSTEP_DEVICE void finish(Thread& t, const UpdatedTile& tile, const LeafSums& sums,
                              hash::Leaf* leaf) const {
    finish_leaf(t, keys, sums, static_cast<std::uint64_t>(tile.n) * 4,
                t.template shared<std::uint64_t>(), leaf);
  }
};

template <class Gpu>
template <class Rule>
bool Device<Gpu>::update_by(const Rule& rule, std::span<const UpdatedTensor> tensors) {
  std::vector<UpdatedTile> tiles;
  std::vector<UpdatedArray> arrays;
  struct Places {
    hash::Leaf* before;
    hash::Leaf* after;
  };
  std::vector<Places> places;
  for (const UpdatedTensor& one : tensors) {
    LOCKSTEP_ASSERT(one.slots.size() == Rule::kSlots, std::to_string(one.slots.size()));
    for (std::int64_t first = 0; first < one.n; first += kTileFloats) {
      const std::int64_t left = one.n - first, number = first / kTileFloats;
      const auto count = static_cast<std::int64_t>(1 + one.slots.size() + one.averages.size());
      tiles.push_back({one.g == nullptr ? nullptr : one.g + first,
                       left < kTileFloats ? left : kTileFloats,
                       static_cast<std::int64_t>(arrays.size()), count});
      const auto add = [&](const Updated& array, float one_minus_decay) {
        arrays.push_back({array.values + first, one_minus_decay, array.before != nullptr,
                          array.after != nullptr});
        places.push_back({array.before == nullptr ? nullptr : array.before + number,
                          array.after == nullptr ? nullptr : array.after + number});
      };
      add(one.p, 0);
      for (const Updated& slot : one.slots) add(slot, 0);
      for (const UpdatedTensor::Average& average : one.averages)
        add(average.e, average.one_minus_decay);
    }
  }
  if (tiles.empty()) return true;
  const Upload<Gpu, UpdatedTile> all_tiles(*gpu_, tiles);
  const Upload<Gpu, UpdatedArray> all_arrays(*gpu_, arrays);
  const auto count = static_cast<std::int64_t>(arrays.size());
  // Leaves, and behind them the tiles' marks: one copy to the host.
  const std::size_t of_leaves = 2 * arrays.size() * sizeof(hash::Leaf);
  std::vector<std::byte> host(of_leaves + tiles.size() * sizeof(int));
  const Scratch<Gpu, std::byte> found(*gpu_, std::ssize(host));
  auto* const leaves = reinterpret_cast<hash::Leaf*>(found.data());
  gpu_->launch(
      Grid{static_cast<std::int64_t>(tiles.size()), kThreads, kLeafScratchBytes},
      UpdateKernel<Rule>{rule, all_tiles.data(), all_arrays.data(), leaf_keys(), leaves,
                         leaves + count, reinterpret_cast<int*>(found.data() + of_leaves)});
  gpu_->to_host(host.size(), found.data(), host.data());
  const auto leaf = [&](std::size_t i, hash::Leaf* to) {
    if (to != nullptr) std::memcpy(to, host.data() + i * sizeof(hash::Leaf), sizeof(hash::Leaf));
  };
  for (std::size_t i = 0; i < places.size(); ++i) {
    leaf(i, places[i].before);
    leaf(places.size() + i, places[i].after);
  }
  return std::all_of(host.begin() + static_cast<std::ptrdiff_t>(of_leaves), host.end(),
                     [](std::byte mark) { return mark == std::byte{0}; });
}

template <class Gpu>
bool Device<Gpu>::update(const UpdateRule& rule, std::span<const UpdatedTensor> tensors) {
  if (const auto* adamw = std::get_if<AdamW>(&rule)) return update_by(AdamWRule{*adamw}, tensors);
  if (const auto* sgd = std::get_if<Sgd>(&rule)) return update_by(SgdRule{*sgd}, tensors);
  if (const auto* lion = std::get_if<Lion>(&rule)) return update_by(LionRule{*lion}, tensors);
  return update_by(KeepRule{}, tensors);
}

}  // namespace lockstep::numerics::cuda
