
#include <algorithm>
#include <bit>
#include <memory>
#include <string>

#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "numerics/cpu/elementwise_kernels.h"

namespace lockstep::numerics {
namespace {

constexpr std::int64_t kChunk =
    256;  // columns summed at a time, so that a level's scratch is small
constexpr std::int64_t kGrain = 16384;  // columns

using AddKernel = void (*)(std::int64_t n, const float* a, const float* b, float* out);

// Walks the tree over nodes instead of lanes: a node that is one of `nodes` is a leaf.
class NodeSum {
 public:
  NodeSum(std::span<const Subtree> nodes, const float* const* rows, std::int64_t column,
          std::int64_t width, float* scratch, AddKernel add)
      : nodes_(nodes), rows_(rows), column_(column), width_(width), scratch_(scratch), add_(add) {}

  // Writes the sum of `node` to `out` and returns it, or returns a leaf's own row.
  const float* sum(Subtree node, int depth, float* out) {
    if (nodes_[next_] == node) return rows_[next_++] + column_;
    LOCKSTEP_ASSERT(node.count > 1 && nodes_[next_].count < node.count,
                    "partial " + std::to_string(next_) + " is not a node of the tree");
    const std::int64_t left = tree_split(node.count);
    float* const right_out = scratch_ + depth * kChunk;
    const float* a = sum({node.first, left}, depth + 1, out);
    const float* b = sum({node.first + left, node.count - left}, depth + 1, right_out);
    add_(width_, a, b, out);
    return out;
  }

 private:
  std::span<const Subtree> nodes_;
  const float* const* rows_;
  std::int64_t column_;
  std::int64_t width_;
  float* scratch_;
  AddKernel add_;
  std::size_t next_ = 0;
};

}  // namespace

void Cpu::tree_sum_nodes(std::int64_t total, std::span<const Subtree> nodes,
                         const float* const* rows, std::int64_t width, float* out) {
  std::int64_t covered = 0;
  for (const Subtree& node : nodes) {
    LOCKSTEP_ASSERT(node.first == covered && node.count >= 1,
                    "partials do not follow each other at lane " + std::to_string(covered));
    covered += node.count;
  }
  LOCKSTEP_ASSERT(covered == total && total >= 1,
                  "partials cover " + std::to_string(covered) + " of " + std::to_string(total));
  const AddKernel add = elementwise_kernels(isa()).binary[static_cast<int>(Binary::kAdd)];
  const int levels = std::bit_width(static_cast<std::uint64_t>(total));
  parallel_for(width, kGrain, [&](std::int64_t begin, std::int64_t end) {
    const auto scratch =
        std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(levels * kChunk));
    for (std::int64_t column = begin; column < end; column += kChunk) {
      const std::int64_t columns = std::min(kChunk, end - column);
      NodeSum walk(nodes, rows, column, columns, scratch.get(), add);
      const float* const result = walk.sum({0, total}, 0, out + column);
      if (result != out + column) std::copy(result, result + columns, out + column);
    }
  });
}

void Cpu::tree_sum(const float* const* rows, std::int64_t count, std::int64_t width, float* out) {
  LOCKSTEP_ASSERT(count >= 1, "no rows");
  std::vector<Subtree> leaves;
  leaves.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) leaves.push_back({i, 1});
  tree_sum_nodes(count, leaves, rows, width, out);
}

}  // namespace lockstep::numerics
