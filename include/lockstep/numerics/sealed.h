// Floats that travel between ranks: tiles, each with its leaf hash (hash/leaf.h), so that whoever
// gets one knows that it is as it was sent. Addresses are of the device's memory, a leaf's at a
// multiple of 8 bytes; the lists lie in the host's. Bits: those of tree.h.
#pragma once

#include <cstdint>
#include <span>

#include "lockstep/hash/leaf.h"
#include "lockstep/numerics/tree.h"

namespace lockstep::numerics {

// What goes into a tile: as many floats as it has.
struct SealedRow {
  const float* floats;
  const hash::Leaf* leaf;  // what the floats' must be; null: they did not travel
};

struct SealedTile {
  float* floats;
  std::int64_t count;  // at most kTileFloats
  hash::Leaf* leaf;    // written; null: they will not travel
};

class SealedSums {
 public:
  // Of each tile the floats, and then their leaf: the tree over `total` lanes of its rows, one a
  // node, which lie in `rows` behind those of the tiles before. With a single node this copies.
  //
  // broken[i] becomes 1 if the floats of rows[i] do not have its leaf, else 0: whoever uses a tile
  // asks first. Null: no row has a leaf. A tile may lie where its only row does.
  // LOCKSTEP_ASSERTs what tree_sum_nodes does.
  virtual void sum_sealed(std::int64_t total, std::span<const Subtree> nodes,
                          std::span<const SealedRow> rows, std::span<const SealedTile> tiles,
                          float* broken) = 0;

 protected:
  ~SealedSums() = default;
};

}  // namespace lockstep::numerics
