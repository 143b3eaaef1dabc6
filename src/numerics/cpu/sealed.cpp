#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"

namespace lockstep::numerics {

// Tile by tile, while it is in cache.
void Cpu::sum_sealed(std::int64_t total, std::span<const Subtree> nodes,
                     std::span<const SealedRow> rows, std::span<const SealedTile> tiles,
                     float* broken) {
  LOCKSTEP_ASSERT(rows.size() == tiles.size() * nodes.size());
  std::vector<const float*> floats(nodes.size());
  std::size_t i = 0;
  for (const SealedTile& tile : tiles) {
    const auto count = static_cast<std::size_t>(tile.count);
    for (const float*& of_row : floats) {
      const SealedRow& row = rows[i];
      of_row = row.floats;
      if (broken != nullptr)
        broken[i] =
            row.leaf == nullptr ||
                    hash::leaf_hash(std::as_bytes(std::span(row.floats, count))) == *row.leaf
                ? 0.0F
                : 1.0F;
      ++i;
    }
    tree_sum_nodes(total, nodes, floats.data(), tile.count, tile.floats);
    if (tile.leaf != nullptr)
      *tile.leaf = hash::leaf_hash(std::as_bytes(std::span(tile.floats, count)));
  }
}

}  // namespace lockstep::numerics
