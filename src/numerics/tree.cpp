#include "lockstep/numerics/tree.h"

#include <string>

#include "lockstep/core/error.h"

namespace lockstep::numerics {
namespace {

void append_maximal(Subtree node, std::int64_t first, std::int64_t end, std::vector<Subtree>& out) {
  if (node.first >= end || node.first + node.count <= first) return;
  if (node.first >= first && node.first + node.count <= end) {
    out.push_back(node);
    return;
  }
  const std::int64_t left = tree_split(node.count);
  append_maximal({node.first, left}, first, end, out);
  append_maximal({node.first + left, node.count - left}, first, end, out);
}

}  // namespace

std::vector<Subtree> maximal_subtrees(std::int64_t total, std::int64_t first, std::int64_t count) {
  LOCKSTEP_ASSERT(total >= 1 && first >= 0 && count >= 0 && first <= total - count,
                  "lanes " + std::to_string(first) + "+" + std::to_string(count) + " of " +
                      std::to_string(total));
  std::vector<Subtree> nodes;
  if (count > 0) append_maximal({0, total}, first, first + count, nodes);
  return nodes;
}

std::optional<Subtree> parent_of(std::int64_t total, Subtree left, Subtree right) {
  const Subtree parent{left.first, left.count + right.count};
  if (right.first != left.first + left.count || tree_split(parent.count) != left.count)
    return std::nullopt;
  if (maximal_subtrees(total, parent.first, parent.count).size() != 1) return std::nullopt;
  return parent;
}

std::int64_t LaneBlocks::lane_count() const {
  std::int64_t count = 0;
  for (const std::int64_t block : lanes) count += block;
  return count;
}

}  // namespace lockstep::numerics
