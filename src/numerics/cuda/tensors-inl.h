// Private: many tensors in one launch for CUDA: a block a tile, by a table of tiles.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

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

// body(values, i) for element i of each tile.
template <class T, class Body>
struct EachOfTiles {
  const TensorTile<T>* tiles;
  Body body;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const TensorTile<T> tile = tiles[t.block()];
    for (std::int64_t i = t.thread(); i < tile.n; i += t.threads()) body(tile.data, i);
  }
};

template <class Gpu, class T, class Body>
void each_of_all(Gpu& gpu, std::span<const std::span<T>> tensors, const Body& body) {
  const std::vector<TensorTile<T>> tiles = tiles_of(tensors);
  const Upload<Gpu, TensorTile<T>> table(gpu, tiles);
  gpu.launch(Grid{std::ssize(tiles), kThreads, 0}, EachOfTiles<T, Body>{table.data(), body});
}

}  // namespace lockstep::numerics::cuda
