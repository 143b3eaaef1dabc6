#include "lockstep/hash/merkle.h"

#include <algorithm>
#include <array>
#include <bit>

#include "lockstep/core/error.h"

namespace lockstep::hash {
namespace {

ByteView prefix(std::uint8_t value) {
  static constexpr std::array<std::byte, 3> kPrefixes{std::byte{0}, std::byte{1}, std::byte{2}};
  return ByteView(kPrefixes).subspan(value, 1);
}

Sha256 root_begun(std::uint64_t length) {
  Bytes sizes;
  put_u64_le(sizes, kBlockBytes);
  put_u64_le(sizes, length);
  Sha256 root;
  root.update(prefix(2)).update(sizes);
  return root;
}

}  // namespace

Digest block_digest(ByteView block) {
  return Sha256().update(prefix(0)).update(block).finish();
}

Digest node_digest(const Digest& left, const Digest& right) {
  return Sha256().update(prefix(1)).update(left.view()).update(right.view()).finish();
}

Digest tree_root(std::span<const Digest> leaves, std::uint64_t length) {
  LOCKSTEP_ASSERT(
      leaves.size() == block_count(length),
      std::to_string(leaves.size()) + " leaves for " + std::to_string(length) + " bytes");
  return leaves.empty() ? root_begun(length).finish() : root_over(tree_top(leaves), length);
}

Digest tree_top(std::span<const Digest> leaves) {
  LOCKSTEP_ASSERT(!leaves.empty());
  if (leaves.size() == 1) return leaves.front();
  const std::size_t left = std::bit_floor(leaves.size() - 1);  // largest power of two below n
  return node_digest(tree_top(leaves.first(left)), tree_top(leaves.subspan(left)));
}

Digest root_over(const Digest& top, std::uint64_t length) {
  return root_begun(length).update(top.view()).finish();
}

std::vector<Digest> block_digests(ByteView bytes) {
  std::vector<Digest> leaves(block_count(bytes.size()));
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const std::size_t begin = i * kBlockBytes;
    leaves[i] = block_digest(bytes.subspan(begin, std::min(kBlockBytes, bytes.size() - begin)));
  }
  return leaves;
}

Digest tree_digest(ByteView bytes) {
  return tree_root(block_digests(bytes), bytes.size());
}

}  // namespace lockstep::hash
