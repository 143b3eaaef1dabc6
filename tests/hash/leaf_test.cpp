#include "lockstep/hash/leaf.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>

#include "hash/leaf_pairs.h"

namespace lockstep::hash {
namespace {

// Words of one of a few kinds, as tensors have them: random, all equal, mostly zero.
Bytes some_tile(std::size_t min_size) {
  const auto size = *rc::gen::inRange<std::size_t>(min_size, kTileBytes + 1);
  const auto kind = *rc::gen::inRange(0, 3);
  std::uint64_t x = *rc::gen::arbitrary<std::uint64_t>();
  Bytes tile(size);
  for (auto& byte : tile) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    const auto top = std::byte(x >> 56);
    if (kind == 0) byte = top;
    if (kind == 2 && (x >> 40) % 64 == 0) byte = top;
  }
  return tile;
}

// The header's formula, word by word, in 128-bit integers.
Leaf by_definition(ByteView tile) {
  const LeafKeys& keys = leaf_keys();
  const auto word = [&](std::size_t i) {
    std::uint32_t w = 0;
    for (std::size_t j = 0; j < 4 && 4 * i + j < tile.size(); ++j) {
      w |= std::uint32_t(tile[4 * i + j]) << (8 * j);
    }
    return w;
  };
  Leaf leaf{tile.size() * keys.length_a, tile.size() * keys.length_b};
  for (std::size_t p = 0; 8 * p < tile.size(); ++p) {
    const auto product = [&](std::size_t shift) {
      const std::uint32_t left = word(2 * p) + keys.words[2 * p + shift];
      const std::uint32_t right = word(2 * p + 1) + keys.words[2 * p + 1 + shift];
      return std::uint64_t{left} * right;
    };
    leaf.a += product(0);
    leaf.b += product(kLeafShift);
  }
  return leaf;
}

RC_GTEST_PROP(Leaf, IsItsDefinition, ()) {
  const Bytes tile = some_tile(0);
  RC_ASSERT(leaf_hash(tile) == by_definition(tile));
}

TEST(Leaf, IsTheSameInEveryWayForEveryLength) {
  Bytes tile(kTileBytes);
  std::uint64_t x = 1;
  for (auto& byte : tile)
    byte = std::byte((x = x * 6364136223846793005u + 1442695040888963407u) >> 56);
  const auto ways = ways_to_add_pairs();
  for (std::size_t pairs = 0; pairs <= kTileBytes / 8; ++pairs) {
    Leaf portable{1, 2};
    ways.front().add(tile.data(), leaf_keys().words.data(), pairs, portable);
    for (const WayToAddPairs& way : ways) {
      Leaf leaf{1, 2};
      way.add(tile.data(), leaf_keys().words.data(), pairs, leaf);
      ASSERT_EQ(leaf, portable) << way.name << ", " << pairs << " pairs";
    }
  }
}

RC_GTEST_PROP(Leaf, OfPiecesIsThatOfTheTile, ()) {
  const Bytes tile = some_tile(0);
  LeafSum sum;
  for (std::size_t at = 0; at < tile.size();) {
    const std::size_t pairs = *rc::gen::inRange<std::size_t>(0, 700);
    const std::size_t size = std::min(8 * pairs, tile.size() - at);
    sum.add(ByteView(tile).subspan(at, size));
    at += size;
  }
  RC_ASSERT(sum.finish() == leaf_hash(tile));
}

RC_GTEST_PROP(Leaf, ChangesWithAnySingleBit, ()) {
  Bytes tile = some_tile(1);
  const Leaf before = leaf_hash(tile);
  const auto at = *rc::gen::inRange<std::size_t>(0, tile.size());
  for (int bit = 0; bit < 8; ++bit) {
    tile[at] ^= std::byte(1 << bit);
    RC_ASSERT(!(leaf_hash(tile) == before));
    tile[at] ^= std::byte(1 << bit);
  }
}

// What makes the proof in the header hold: no word's two keys are equal.
TEST(Leaf, HasNoKeyEqualToItsShiftedKey) {
  const auto& words = leaf_keys().words;
  for (std::size_t i = 0; i < kTileWords; ++i) ASSERT_NE(words[i], words[i + kLeafShift]) << i;
}

TEST(Leaf, FindsAChangedWordWhoseNeighbourCancelsOneKey) {
  Bytes tile(kTileBytes);
  const auto set = [&](std::size_t i, std::uint32_t w) { std::memcpy(&tile[4 * i], &w, 4); };
  for (const std::size_t shift : {std::size_t{0}, kLeafShift}) {
    set(101, 0u - leaf_keys().words[101 + shift]);  // the factor of this sum is zero
    set(100, 1);
    const Leaf one = leaf_hash(tile);
    set(100, 0x80000000u);
    EXPECT_FALSE(leaf_hash(tile) == one) << shift;
  }
}

RC_GTEST_PROP(Leaf, ChangesWhenTwoWordsOrBlocksAreSwapped, ()) {
  Bytes tile = some_tile(64);
  const auto length = *rc::gen::elementOf(std::vector<std::size_t>{4, 8, 16, 32});
  const std::size_t places = tile.size() / length;
  const auto i = length * *rc::gen::inRange<std::size_t>(0, places);
  const auto j = length * *rc::gen::inRange<std::size_t>(0, places);
  RC_PRE(std::memcmp(&tile[i], &tile[j], length) != 0);
  const Leaf before = leaf_hash(tile);
  std::swap_ranges(&tile[i], &tile[i] + length, &tile[j]);
  RC_ASSERT(!(leaf_hash(tile) == before));
}

RC_GTEST_PROP(Leaf, ChangesWhenTheTileIsCutOrExtendedByZeros, ()) {
  Bytes tile = some_tile(1);
  const Leaf before = leaf_hash(tile);
  const auto shorter = *rc::gen::inRange<std::size_t>(0, tile.size());
  RC_ASSERT(!(leaf_hash(ByteView(tile).first(shorter)) == before));
  for (int zeros = 0; zeros < 9 && tile.size() < kTileBytes; ++zeros) {
    tile.push_back(std::byte{0});
    RC_ASSERT(!(leaf_hash(tile) == before));
  }
}

RC_GTEST_PROP(Leaf, DoesNotDependOnAlignment, ()) {
  const Bytes tile = some_tile(1);
  Bytes moved(tile.size() + 64);
  const auto at = *rc::gen::inRange<std::size_t>(0, 64);
  std::copy(tile.begin(), tile.end(), moved.begin() + std::ptrdiff_t(at));
  RC_ASSERT(leaf_hash(ByteView(moved).subspan(at, tile.size())) == leaf_hash(tile));
}

TEST(Leaf, OfATensorAreThoseOfItsTiles) {
  Bytes tensor(3 * kTileBytes + 100);
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i] = std::byte(i % 251);
  std::vector<Leaf> leaves(leaf_count(tensor.size()));
  ASSERT_EQ(leaves.size(), 4u);
  leaf_hashes(tensor, leaves);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto size = std::min(kTileBytes, tensor.size() - i * kTileBytes);
    EXPECT_EQ(leaves[i], leaf_hash(ByteView(tensor).subspan(i * kTileBytes, size)));
  }
}

TEST(Leaf, GivesTheValuesItAlwaysGave) {
  Bytes tile(kTileBytes);
  const Leaf zeros = leaf_hash(tile);
  for (std::size_t i = 0; i < tile.size(); ++i) tile[i] = std::byte(i % 251);
  const Leaf full = leaf_hash(tile);
  const Leaf part = leaf_hash(ByteView(tile).first(1003));
  const auto text = [](const Leaf& leaf) {
    Bytes bytes;
    put_u64_le(bytes, leaf.a);
    put_u64_le(bytes, leaf.b);
    return to_hex(bytes);
  };
  EXPECT_EQ(text(zeros), "a9d425ae2039b6ecc955c5abb6a02ed2");
  EXPECT_EQ(text(full), "8e961b8351dbb0552213b51f8585cfe3");
  EXPECT_EQ(text(part), "dd5bc246e57be67c7e4283f564c7620c");
}

}  // namespace
}  // namespace lockstep::hash
