#include "lockstep/hash/merkle.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::hash {
namespace {

Bytes pattern(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = std::byte(i * 131 + (i >> 8) * 7);
  return bytes;
}

Digest plain(std::initializer_list<ByteView> parts) {
  Sha256 hash;
  for (ByteView part : parts) hash.update(part);
  return hash.finish();
}

TEST(Merkle, IsTheTreeOfItsDefinition) {
  const Bytes bytes = pattern(2 * kBlockBytes + 5);
  const std::byte zero{0}, one{1};
  const ByteView leaf_mark(&zero, 1), node_mark(&one, 1);
  const ByteView all(bytes);
  const Digest l0 = plain({leaf_mark, all.subspan(0, kBlockBytes)});
  const Digest l1 = plain({leaf_mark, all.subspan(kBlockBytes, kBlockBytes)});
  const Digest l2 = plain({leaf_mark, all.subspan(2 * kBlockBytes)});
  const Digest left = plain({node_mark, l0.view(), l1.view()});
  const Digest top = plain({node_mark, left.view(), l2.view()});
  Bytes head{std::byte{2}};
  put_u64_le(head, kBlockBytes);
  put_u64_le(head, bytes.size());
  EXPECT_EQ(tree_digest(bytes), plain({head, top.view()}));
}

TEST(Merkle, GivesTheValuesItAlwaysGave) {
  EXPECT_EQ(tree_digest({}).hex(),
            "ab9e756d6e6289d9f8f8f86be66aa3a5119a3c6c3cb47bfc244bbece0cb16ae2");
  EXPECT_EQ(tree_digest(pattern(5 * kBlockBytes + 77)).hex(),
            "b747501b4b0c23f3085e66bc7f53c409202cc82e8675df556ac9486f48e74ec6");
}

TEST(Merkle, DoesNotTakeANodeForALeaf) {
  const Digest a = block_digest(as_bytes("a"));
  const Digest b = block_digest(as_bytes("b"));
  Bytes both(a.bytes.begin(), a.bytes.end());
  both.insert(both.end(), b.bytes.begin(), b.bytes.end());
  EXPECT_NE(block_digest(both), node_digest(a, b));
}

RC_GTEST_PROP(Merkle, ChangesWithAnyByteAndAnyLength, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(1, 3 * kBlockBytes);
  Bytes bytes = pattern(size);
  const Digest root = tree_digest(bytes);
  const auto at = *rc::gen::inRange<std::size_t>(0, size);
  const auto flip = *rc::gen::inRange(1, 256);
  bytes[at] ^= std::byte(flip);
  const auto leaves = block_digests(bytes);
  RC_ASSERT(tree_root(leaves, size) != root);
  const auto whole = block_digests(pattern(size));
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    RC_ASSERT((leaves[i] != whole[i]) == (i == at / kBlockBytes));
  }
  RC_ASSERT(tree_digest(ByteView(pattern(size)).first(at)) != root);
  Bytes longer = pattern(size);
  longer.push_back(std::byte{0});
  RC_ASSERT(tree_digest(longer) != root);
}

}  // namespace
}  // namespace lockstep::hash
