// Private: the update for CUDA (update.h): a block a tile, which hashes what it reads and writes.
// What Gpu has for it, and copies-inl.h:
//
//   gpu.begin_to_host(pieces)   few bytes on their way to the host, behind what was called before:
//   arrival->wait()             they are there, one piece behind the other, while it lives
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "lockstep/core/bytes.h"
#include "lockstep/core/error.h"
#include "lockstep/numerics/spec/update.h"
#include "numerics/cuda/leaf-inl.h"

namespace lockstep::numerics::cuda {

// What each rule does to an element: of its parameter, x[0], and of its slots, which follow.
struct KeepRule {
  static constexpr int kSlots = 0;
  LOCKSTEP_DEVICE void operator()(float, float*) const {}
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
struct AverageRule {
  static constexpr int kSlots = 0;
  float one_minus_decay;
  LOCKSTEP_DEVICE void operator()(float p, float* x) const {
    spec::average(one_minus_decay, p, x[0]);
  }
};

// A tile of a tensor of n elements, whose arrays are p, slots, averages, in this order.
struct UpdatedTile {
  const float* g;  // the tensor's
  std::int64_t n, number;
  std::int32_t first_array, arrays;
};
// With its leaves, one a tile; null: nobody wants them.
struct UpdatedArray {
  float* values;
  float one_minus_decay;  // of an average
  hash::Leaf* before;
  hash::Leaf* after;
};

// Each value is read once and written once: its thread hashes what it has read, and what it is
// about to write. A thread has four neighbours of each array at a time, so that many loads are on
// their way.
template <class Rule>
struct UpdateKernel {
  Rule rule;
  const UpdatedTile* tiles;
  const UpdatedArray* arrays;
  DeviceLeafKeys keys;
  int* not_finite;  // of each tile: whether something that was written is not

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const UpdatedTile tile = tiles[t.block()];
    const UpdatedArray* const its = arrays + tile.first_array;
    if (t.thread() == 0) not_finite[t.block()] = 0;
    t.barrier();
    pass(t, tile, its, tile.g, rule);
    for (int k = 1 + Rule::kSlots; k < tile.arrays; ++k)  // p: this thread has written it
      pass(t, tile, its + k, its->values, AverageRule{its[k].one_minus_decay});
  }

 private:
  using Four = Vector<float, 4>;

  // Of a tile of `its` arrays: `by` changes them, with what lies `beside` them.
  template <class Thread, class By>
  LOCKSTEP_DEVICE void pass(Thread& t, const UpdatedTile& tile, const UpdatedArray* its,
                            const float* beside, const By& by) const {
    constexpr int kArrays = 1 + By::kSlots;
    constexpr bool kChanged = !std::is_same_v<By, KeepRule>;
    const std::int64_t first = tile.number * kTileFloats;
    const int count = static_cast<int>(tile.n - first < kTileFloats ? tile.n - first : kTileFloats);
    float* values[kArrays];
    bool fours = !kChanged || in_fours(beside + first);
    LOCKSTEP_UNROLL
    for (int k = 0; k < kArrays; ++k) {
      values[k] = its[k].values + first;
      fours = fours && in_fours(values[k]);
    }
    LeafSums sums[kChanged ? 2 * kArrays : kArrays];  // of what was read; of what was written
    bool finite = true;
    // Of the elements [i, i + 4), or of those that there are.
    const auto step = [&](auto whole, int i) {
      constexpr bool kWhole = decltype(whole)::value;
      const int here = kWhole ? 4 : count - i;
      Four x[kArrays];
      [[maybe_unused]] Four other = {};
      LOCKSTEP_UNROLL
      for (int k = 0; k < kArrays; ++k) x[k] = load<kWhole>(values[k] + i, here);
      if constexpr (kChanged) other = load<kWhole>(beside + first + i, here);
      const KeysOf<4> at(keys.words + i);
      const auto hash = [&](const Four& words, LeafSums& to) {
        const auto word = [&](int e) { return spec::bit_cast<std::uint32_t>(words.of[e]); };
        to.add(word(0), word(1), at, 0);
        if (here > 2) to.add(word(2), word(3), at, 2);
      };
      LOCKSTEP_UNROLL
      for (int k = 0; k < kArrays; ++k) hash(x[k], sums[k]);
      if constexpr (kChanged) {
        LOCKSTEP_UNROLL
        for (int e = 0; e < 4; ++e) {
          if (e >= here) continue;
          float of_element[kArrays];
          LOCKSTEP_UNROLL
          for (int k = 0; k < kArrays; ++k) of_element[k] = x[k].of[e];
          by(other.of[e], of_element);
          LOCKSTEP_UNROLL
          for (int k = 0; k < kArrays; ++k) x[k].of[e] = of_element[k];
        }
      }
      LOCKSTEP_UNROLL
      for (int k = 0; k < kArrays; ++k) {
        if constexpr (kChanged) {
          store<kWhole>(x[k], here, values[k] + i);
          hash(x[k], sums[kArrays + k]);
        }
        LOCKSTEP_UNROLL
        for (int e = 0; e < 4; ++e) finite = finite && is_finite(x[k].of[e]);
      }
    };
    for (int i = 4 * t.thread(); i < count; i += 4 * t.threads()) {
      if (fours && i + 4 <= count) {
        step(std::true_type(), i);
      } else {
        step(std::false_type(), i);
      }
    }
    if (!finite) not_finite[t.block()] = 1;  // whoever writes, it is a 1
    const auto give = [&](hash::Leaf* leaves, const hash::Leaf& leaf) {
      if (leaves != nullptr) leaves[tile.number] = leaf;
    };
    finish_leaves(t, keys, sums, static_cast<std::uint64_t>(count) * 4,
                  t.template shared<std::uint64_t>(), [&](int k, const hash::Leaf& leaf) {
                    if (k < kArrays) give(its[k].before, leaf);
                    if (!kChanged || k >= kArrays) give(its[k % kArrays].after, leaf);
                  });
  }

  LOCKSTEP_DEVICE static bool in_fours(const float* at) {
    return reinterpret_cast<std::uintptr_t>(at) % sizeof(Four) == 0;
  }
  // Zeros where there are none.
  template <bool kWhole>
  LOCKSTEP_DEVICE static Four load(const float* from, int here) {
    if constexpr (kWhole) {
      return *reinterpret_cast<const Four*>(from);
    } else {
      Four four = {};
      LOCKSTEP_UNROLL
      for (int e = 0; e < 4; ++e)
        if (e < here) four.of[e] = from[e];
      return four;
    }
  }
  template <bool kWhole>
  LOCKSTEP_DEVICE static void store(const Four& four, int here, float* to) {
    if constexpr (kWhole) {
      *reinterpret_cast<Four*>(to) = four;
    } else {
      LOCKSTEP_UNROLL
      for (int e = 0; e < 4; ++e)
        if (e < here) to[e] = four.of[e];
    }
  }
};

// What the host knows of an update's tensors: lists for the kernel, and where leaves go.
class UpdateLists {
 public:
  UpdateLists(std::span<const UpdatedTensor> tensors, std::size_t slots) {
    for (const UpdatedTensor& one : tensors) {
      LOCKSTEP_ASSERT(one.slots.size() == slots, std::to_string(one.slots.size()));
      const std::int64_t count = (one.n + kTileFloats - 1) / kTileFloats;
      for (std::int64_t i = 0; i < count; ++i)
        tiles_.push_back({one.g, one.n, i, static_cast<std::int32_t>(arrays_.size()),
                          static_cast<std::int32_t>(1 + slots + one.averages.size())});
      add(one.p, 0, count);
      for (const Updated& slot : one.slots) add(slot, 0, count);
      for (const UpdatedTensor::Average& average : one.averages)
        add(average.e, average.one_minus_decay, count);
    }
  }

  const std::vector<UpdatedTile>& tiles() const { return tiles_; }
  std::size_t leaf_bytes() const { return static_cast<std::size_t>(leaves_) * sizeof(hash::Leaf); }
  // Their leaves lie here, one array's behind the other's.
  std::vector<UpdatedArray> arrays(hash::Leaf* leaves) const {
    std::vector<UpdatedArray> all = arrays_;
    for (const Wanted& one : wanted_)
      (one.before ? all[one.array].before : all[one.array].after) = leaves + one.first;
    return all;
  }
  void give(const hash::Leaf* leaves) const {
    for (const Wanted& one : wanted_) std::copy_n(leaves + one.first, one.count, one.to);
  }

 private:
  struct Wanted {
    std::size_t array;
    bool before;
    std::int64_t first, count;
    hash::Leaf* to;
  };

  void add(const Updated& array, float one_minus_decay, std::int64_t count) {
    for (const bool before : {true, false}) {
      hash::Leaf* const to = before ? array.before : array.after;
      if (to == nullptr) continue;
      wanted_.push_back({arrays_.size(), before, leaves_, count, to});
      leaves_ += count;
    }
    arrays_.push_back({array.values, one_minus_decay, nullptr, nullptr});
  }

  std::vector<UpdatedTile> tiles_;
  std::vector<UpdatedArray> arrays_;
  std::vector<Wanted> wanted_;
  std::int64_t leaves_ = 0;
};

// What an update has found is on its way: leaves, and behind them the tiles' marks.
template <class Gpu>
class UpdateOnItsWay final : public PendingUpdate {
 public:
  UpdateOnItsWay(Gpu& gpu, UpdateLists lists, ByteView found)
      : lists_(std::move(lists)), bytes_(found.size()), found_(gpu.begin_to_host({&found, 1})) {}

  bool finish() override {
    const std::byte* const there = found_->wait();
    lists_.give(reinterpret_cast<const hash::Leaf*>(there));
    const bool finite = std::all_of(there + lists_.leaf_bytes(), there + bytes_,
                                    [](std::byte mark) { return mark == std::byte{0}; });
    found_.reset();
    return finite;
  }

 private:
  const UpdateLists lists_;
  const std::size_t bytes_;
  std::unique_ptr<typename Gpu::Arrival> found_;
};

template <class Gpu, class Rule>
std::unique_ptr<PendingUpdate> update_by(Gpu& gpu, const DeviceLeafKeys& keys, const Rule& rule,
                                         std::span<const UpdatedTensor> tensors) {
  UpdateLists lists(tensors, Rule::kSlots);
  if (lists.tiles().empty()) return std::make_unique<DoneUpdate>(true);
  const std::size_t of_leaves = lists.leaf_bytes();
  const std::size_t bytes = of_leaves + lists.tiles().size() * sizeof(int);
  const Scratch<Gpu, std::byte> found(gpu, static_cast<std::int64_t>(bytes));
  const Upload<Gpu, UpdatedTile> tiles(gpu, lists.tiles());
  const std::vector<UpdatedArray> arrays =
      lists.arrays(reinterpret_cast<hash::Leaf*>(found.data()));
  const Upload<Gpu, UpdatedArray> all(gpu, arrays);
  gpu.launch(Grid{std::ssize(lists.tiles()), kThreads, leaf_scratch_bytes(2 + 2 * Rule::kSlots)},
             UpdateKernel<Rule>{rule, tiles.data(), all.data(), keys,
                                reinterpret_cast<int*>(found.data() + of_leaves)});
  return std::make_unique<UpdateOnItsWay<Gpu>>(gpu, std::move(lists),
                                               ByteView(found.data(), bytes));
}

template <class Gpu>
std::unique_ptr<PendingUpdate> Device<Gpu>::update(const UpdateRule& rule,
                                                   std::span<const UpdatedTensor> tensors) {
  const auto by = [&](const auto& its) { return update_by(*gpu_, leaf_keys(), its, tensors); };
  if (const auto* adamw = std::get_if<AdamW>(&rule)) return by(AdamWRule{*adamw});
  if (const auto* sgd = std::get_if<Sgd>(&rule)) return by(SgdRule{*sgd});
  if (const auto* lion = std::get_if<Lion>(&rule)) return by(LionRule{*lion});
  return by(KeepRule{});
}

}  // namespace lockstep::numerics::cuda
