// Private: leaf hashes for CUDA (hash/leaf.h): a block a tile. Sums of integers have no order.
#pragma once

#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/hash/leaf.h"
#include "lockstep/numerics/spec/operations.h"
#include "numerics/cuda/device.h"
#include "numerics/cuda/tensors-inl.h"
#include "numerics/cuda/vector.h"

namespace lockstep::numerics::cuda {

LOCKSTEP_DEVICE inline bool is_finite(float x) {
  return spec::abs(x) <= 0x1.fffffep127F;
}

// The keys of kCount words; the first is a multiple of kCount.
template <int kCount>
struct KeysOf {
  using Words = Vector<std::uint32_t, kCount>;
  static_assert(hash::kLeafShift % kCount == 0);
  Words a, b;

  LOCKSTEP_DEVICE explicit KeysOf(const std::uint32_t* key)
      : a(*reinterpret_cast<const Words*>(key)),
        b(*reinterpret_cast<const Words*>(key + hash::kLeafShift)) {}
};

struct LeafSums {
  std::uint64_t a = 0, b = 0;

  // Of the pair of words whose keys begin at `first`.
  template <int kCount>
  LOCKSTEP_DEVICE void add(std::uint32_t x, std::uint32_t y, const KeysOf<kCount>& keys,
                           int first) {
    a += std::uint64_t{x + keys.a.of[first]} * std::uint64_t{y + keys.a.of[first + 1]};
    b += std::uint64_t{x + keys.b.of[first]} * std::uint64_t{y + keys.b.of[first + 1]};
  }
};

// The keys, in the device's memory.
struct DeviceLeafKeys {
  const std::uint32_t* words;
  std::uint64_t length_a, length_b;
};

// Adds up the sums of a block's threads; a thread a leaf calls give(k, leaf) with that of `bytes`
// bytes. `scratch`: leaf_scratch_bytes, in shared memory.
template <int kLeaves, class Thread, class Give>
LOCKSTEP_DEVICE inline void finish_leaves(Thread& t, const DeviceLeafKeys& keys,
                                          LeafSums (&sums)[kLeaves], std::uint64_t bytes,
                                          std::uint64_t* scratch, const Give& give) {
  constexpr int kWarps = kThreads / kWarp;
  static_assert(kLeaves <= kWarps);
  LOCKSTEP_UNROLL
  for (int k = 0; k < kLeaves; ++k) {
    for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
      sums[k].a += t.shuffle_down(sums[k].a, lanes);
      sums[k].b += t.shuffle_down(sums[k].b, lanes);
    }
    if (t.thread() % kWarp == 0) {
      std::uint64_t* const to = scratch + 2 * (k * kWarps + t.thread() / kWarp);
      to[0] = sums[k].a;
      to[1] = sums[k].b;
    }
  }
  t.barrier();
  LOCKSTEP_UNROLL
  for (int k = 0; k < kLeaves; ++k) {
    if (t.thread() == k * kWarp) {
      std::uint64_t a = bytes * keys.length_a, b = bytes * keys.length_b;
      for (int warp = 0; warp < kWarps; ++warp) {
        a += scratch[2 * (k * kWarps + warp)];
        b += scratch[2 * (k * kWarps + warp) + 1];
      }
      give(k, hash::Leaf{a, b});
    }
  }
  t.barrier();  // scratch may be used again
}

constexpr std::int64_t leaf_scratch_bytes(int leaves) {
  return std::int64_t{kThreads} / kWarp * leaves * 2 * 8;
}

// Leaves of tiles at any address.
struct LeafKernel {
  struct Tile {
    const unsigned char* data;
    std::uint64_t bytes;
  };
  const Tile* tiles;
  DeviceLeafKeys keys;
  hash::Leaf* leaves;

  // Little-endian, with zeros behind the tile's end.
  LOCKSTEP_DEVICE static std::uint32_t word(const Tile& tile, std::uint64_t i) {
    const unsigned char* const at = tile.data + 4 * i;
    if (4 * i + 4 <= tile.bytes && reinterpret_cast<std::uintptr_t>(at) % 4 == 0)
      return *reinterpret_cast<const std::uint32_t*>(at);
    std::uint32_t value = 0;
    for (std::uint64_t k = 0; k < 4 && 4 * i + k < tile.bytes; ++k) {
      value |= static_cast<std::uint32_t>(tile.data[4 * i + k]) << (8 * k);
    }
    return value;
  }

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const Tile tile = tiles[t.block()];
    LeafSums sums[1];
    const std::uint64_t pairs = (tile.bytes + 7) / 8;
    for (auto p = static_cast<std::uint64_t>(t.thread()); p < pairs;
         p += static_cast<std::uint64_t>(t.threads())) {
      sums[0].add(word(tile, 2 * p), word(tile, 2 * p + 1), KeysOf<2>(keys.words + 2 * p), 0);
    }
    finish_leaves(t, keys, sums, tile.bytes, t.template shared<std::uint64_t>(),
                  [&](int, const hash::Leaf& leaf) { leaves[t.block()] = leaf; });
  }
};

template <class Gpu>
DeviceLeafKeys Device<Gpu>::leaf_keys() {
  const hash::LeafKeys& keys = hash::leaf_keys();
  if (!leaf_keys_) {
    leaf_keys_ = std::make_unique<Upload<Gpu, std::uint32_t>>(
        *gpu_, std::span<const std::uint32_t>(keys.words));
  }
  return {leaf_keys_->data(), keys.length_a, keys.length_b};
}

template <class Gpu>
void Device<Gpu>::leaf_hashes(std::span<const ByteView> tiles, hash::Leaf* leaves) {
  if (tiles.empty()) return;
  std::vector<LeafKernel::Tile> list;
  for (const ByteView tile : tiles)
    list.push_back({reinterpret_cast<const unsigned char*>(tile.data()), tile.size()});
  const Upload<Gpu, LeafKernel::Tile> all(*gpu_, list);
  const auto count = static_cast<std::int64_t>(tiles.size());
  const Scratch<Gpu, hash::Leaf> found(*gpu_, count);
  gpu_->launch(Grid{count, kThreads, leaf_scratch_bytes(1)},
               LeafKernel{all.data(), leaf_keys(), found.data()});
  gpu_->to_host(tiles.size() * sizeof(hash::Leaf), found.data(), leaves);
}

// Of each tile whether it has a value that is not finite.
struct NonFiniteKernel {
  const TensorTile<const float>* tiles;
  int* found;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const TensorTile<const float> tile = tiles[t.block()];
    if (t.thread() == 0) found[t.block()] = 0;
    t.barrier();
    for (std::int64_t i = t.thread(); i < tile.n; i += t.threads())
      if (!is_finite(tile.data[i])) found[t.block()] = 1;  // whoever writes, it is a 1
  }
};

template <class Gpu>
std::size_t Device<Gpu>::first_non_finite(std::span<const std::span<const float>> tensors) {
  const std::vector<TensorTile<const float>> list = tiles_of(tensors);
  if (list.empty()) return tensors.size();
  const Upload<Gpu, TensorTile<const float>> tiles(*gpu_, list);
  const Scratch<Gpu, int> found(*gpu_, std::ssize(list));
  gpu_->launch(Grid{std::ssize(list), kThreads, 0}, NonFiniteKernel{tiles.data(), found.data()});
  std::vector<int> host(list.size());
  gpu_->to_host(host.size() * sizeof(int), found.data(), host.data());
  auto next = host.begin();
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const auto end = next + (std::ssize(tensors[k]) + kTileFloats - 1) / kTileFloats;
    if (std::find(next, end, 1) != end) return k;
    next = end;
  }
  return tensors.size();
}

}  // namespace lockstep::numerics::cuda
