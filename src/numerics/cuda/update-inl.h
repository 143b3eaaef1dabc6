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

// What each rule does to element i: of its parameter and its slots.
struct KeepRule {
  static constexpr int kSlots = 0;
  LOCKSTEP_DEVICE void operator()(std::int64_t, float, float&, float* const*) const {}
};
struct AdamWRule {
  static constexpr int kSlots = 2;
  AdamW s;
  LOCKSTEP_DEVICE void operator()(std::int64_t i, float g, float& p, float* const* slots) const {
    spec::adamw(s, g, p, slots[0][i], slots[1][i]);
  }
};
struct SgdRule {
  static constexpr int kSlots = 1;
  Sgd s;
  LOCKSTEP_DEVICE void operator()(std::int64_t i, float g, float& p, float* const* slots) const {
    spec::sgd(s, g, p, slots[0][i]);
  }
};
struct LionRule {
  static constexpr int kSlots = 1;
  Lion s;
  LOCKSTEP_DEVICE void operator()(std::int64_t i, float g, float& p, float* const* slots) const {
    spec::lion(s, g, p, slots[0][i]);
  }
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
};

template <class Rule>
struct UpdateKernel {
  Rule rule;
  const UpdatedTile* tiles;
  const UpdatedArray* arrays;
  DeviceLeafKeys keys;
  hash::Leaf* before;  // one an array of `arrays`
  hash::Leaf* after;
  int* not_finite;  // of each tile: whether something that was written is not

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const UpdatedTile tile = tiles[t.block()];
    const UpdatedArray* const all = arrays + tile.first_array;
    if (t.thread() == 0) not_finite[t.block()] = 0;
    hash_arrays(t, tile, before);
    float* slots[2] = {};
    for (int k = 0; k < Rule::kSlots; ++k) slots[k] = all[1 + k].values;
    for (std::int64_t i = t.thread(); i < tile.n; i += t.threads()) {
      float& p = all[0].values[i];
      rule(i, Rule::kSlots == 0 ? 0.0F : tile.g[i], p, slots);
      for (std::int64_t k = 1 + Rule::kSlots; k < tile.arrays; ++k)
        spec::average(all[k].one_minus_decay, p, all[k].values[i]);
    }
    t.barrier();
    hash_arrays(t, tile, after);
    for (std::int64_t k = 0; k < tile.arrays; ++k)
      for (std::int64_t i = t.thread(); i < tile.n; i += t.threads())
        if (!is_finite(all[k].values[i])) not_finite[t.block()] = 1;  // whoever writes, it is a 1
  }

  template <class Thread>
  LOCKSTEP_DEVICE void hash_arrays(Thread& t, const UpdatedTile& tile, hash::Leaf* leaves) const {
    for (std::int64_t k = 0; k < tile.arrays; ++k) {
      const float* const values = arrays[tile.first_array + k].values;
      LeafSums sums;
      for (std::int64_t pair = t.thread(); 2 * pair < tile.n; pair += t.threads()) {
        const auto x = spec::bit_cast<std::uint32_t>(values[2 * pair]);
        const std::uint32_t y =
            2 * pair + 1 < tile.n ? spec::bit_cast<std::uint32_t>(values[2 * pair + 1]) : 0;
        sums.add(x, y, keys.words + 2 * pair);
      }
      finish_leaf(t, keys, sums, static_cast<std::uint64_t>(tile.n) * 4,
                  t.template shared<std::uint64_t>(), leaves + tile.first_array + k);
    }
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
        arrays.push_back({array.values + first, one_minus_decay});
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
