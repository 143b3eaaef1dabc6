// Private: many tensors in one launch for CUDA: a block a tile, by a table of tiles.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "numerics/cuda/elements.h"
#include "numerics/cuda/scratch.h"
#include "numerics/cuda/thread.h"

namespace lockstep::numerics::cuda {

// Floats [first, first + n) of a tensor.
template <class T>
struct TensorTile {
  T* data;
  std::int64_t n;
};

template <class T>
std::vector<TensorTile<T>> tiles_of(std::span<const std::span<T>> tensors) {
  std::vector<TensorTile<T>> tiles;
  for (const std::span<T> one : tensors) {
    for (std::int64_t first = 0; first < std::ssize(one); first += kTileFloats)
      tiles.push_back({one.data() + first, std::min(kTileFloats, std::ssize(one) - first)});
  }
  return tiles;
}

// By a block: x = value(x), of a tile's elements, several together.
template <class Thread, class Value>
LOCKSTEP_DEVICE inline void change(const Thread& t, const TensorTile<float>& tile,
                                   const Value& value) {
  for (std::int64_t i = t.thread(); i < tile.n; i += kTogether * t.threads())
    together(
        i, t.threads(), tile.n, [&](std::int64_t at) { return tile.data[at]; },
        [&](std::int64_t at, float x) { tile.data[at] = value(x); });
}

// body(t, tile) for each tile, by a block.
template <class T, class Body>
struct EachOfTiles {
  const TensorTile<T>* tiles;
  Body body;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    body(t, tiles[t.block()]);
  }
};

template <class Gpu, class T, class Body>
void each_of_all(Gpu& gpu, std::span<const std::span<T>> tensors, const Body& body) {
  const std::vector<TensorTile<T>> tiles = tiles_of(tensors);
  const Upload<Gpu, TensorTile<T>> table(gpu, tiles);
  gpu.launch(Grid{std::ssize(tiles), kThreads, 0}, EachOfTiles<T, Body>{table.data(), body});
}

}  // namespace lockstep::numerics::cuda
