// Private: sums of tiles that travel, for CUDA (sealed.h): a block a tile.
#pragma once

#include <vector>

#include "lockstep/core/error.h"
#include "numerics/cuda/leaf-inl.h"
#include "numerics/cuda/sums-inl.h"

namespace lockstep::numerics::cuda {

struct SealedSumKernel {
  const SealedRow* rows;  // `nodes` a tile
  const SealedTile* tiles;
  const int* joins;  // of the nodes
  std::int64_t nodes;
  DeviceLeafKeys keys;
  float* broken;  // null: not asked

  LOCKSTEP_DEVICE float sum(const SealedRow* of, std::int64_t j) const {
    float waiting[64], sum = of[0].floats[j];
    for (std::int64_t i = 1, depth = 0; i < nodes; ++i) {
      waiting[depth++] = sum;
      sum = of[i].floats[j];
      for (int k = 0; k < joins[i]; ++k) sum = waiting[--depth] + sum;
    }
    return sum;
  }

  // The leaf of value(j), in shared memory.
  template <class Thread, class Value>
  LOCKSTEP_DEVICE hash::Leaf leaf_of(Thread& t, std::int64_t count, const Value& value) const {
    auto* const scratch = t.template shared<std::uint64_t>();
    auto* const leaf = reinterpret_cast<hash::Leaf*>(scratch + kThreads / kWarp * 2);
    LeafSums sums[1];
    for (std::int64_t j = 2 * t.thread(); j < count; j += 2 * t.threads()) {
      const auto first = spec::bit_cast<std::uint32_t>(value(j));
      const auto second = j + 1 < count ? spec::bit_cast<std::uint32_t>(value(j + 1)) : 0;
      sums[0].add(first, second, KeysOf<2>(keys.words + j), 0);
    }
    finish_leaves(t, keys, sums, static_cast<std::uint64_t>(count) * 4, scratch,
                  [&](int, const hash::Leaf& found) { *leaf = found; });
    return *leaf;
  }

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const SealedTile tile = tiles[t.block()];
    const SealedRow* const mine = rows + t.block() * nodes;
    if (broken != nullptr) {
      for (std::int64_t i = 0; i < nodes; ++i) {
        bool intact = true;
        if (mine[i].leaf != nullptr) {
          const float* const floats = mine[i].floats;
          const hash::Leaf leaf =
              leaf_of(t, tile.count, [floats](std::int64_t j) { return floats[j]; });
          intact = leaf.a == mine[i].leaf->a && leaf.b == mine[i].leaf->b;
        }
        if (t.thread() == 0) broken[t.block() * nodes + i] = intact ? 0.0F : 1.0F;
      }
    }
    const auto made = [&](std::int64_t j) {
      const float value = nodes == 1 ? mine[0].floats[j] : sum(mine, j);
      tile.floats[j] = value;
      return value;
    };
    const hash::Leaf leaf = leaf_of(t, tile.count, made);
    if (tile.leaf != nullptr && t.thread() == 0) *tile.leaf = leaf;
  }
};

template <class Gpu>
void Device<Gpu>::sum_sealed(std::int64_t total, std::span<const Subtree> nodes,
                             std::span<const SealedRow> rows, std::span<const SealedTile> tiles,
                             float* broken) {
  LOCKSTEP_ASSERT(rows.size() == tiles.size() * nodes.size());
  const std::vector<int> joins = joins_of(total, nodes);
  if (tiles.empty()) return;
  const Upload<Gpu, SealedRow> row_list(*gpu_, rows);
  const Upload<Gpu, SealedTile> tile_list(*gpu_, tiles);
  const Upload<Gpu, int> join_list(*gpu_, joins);
  gpu_->launch(Grid{std::ssize(tiles), kThreads,
                    leaf_scratch_bytes(1) + static_cast<std::int64_t>(sizeof(hash::Leaf))},
               SealedSumKernel{row_list.data(), tile_list.data(), join_list.data(),
                               std::ssize(nodes), leaf_keys(), broken});
}

}  // namespace lockstep::numerics::cuda
