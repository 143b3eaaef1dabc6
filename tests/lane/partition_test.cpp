// Who holds what: every lane and every tile has one holder, whatever the world and the sizes. The
// controls are partitions with one mistake: the same questions find it.
#include "lockstep/lane/partition.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "lockstep/core/error.h"

namespace lockstep::lane {
namespace {

constexpr std::int64_t kTile = numerics::kTileFloats;

// What is wrong with slices of a tensor; empty if nothing is.
std::string wrong_with(const Division& division, std::int64_t size) {
  std::vector<int> holders(static_cast<std::size_t>(tiles_in(size)));
  for (Rank rank; rank.value < division.world(); ++rank) {
    const Slice slice = division.slice(rank);
    if (slice.first < 0 || slice.last < slice.first || slice.last > size)
      return "a slice is not in the tensor";
    if (slice.size() == 0) continue;
    if (slice.first % kTile != 0 || (slice.last % kTile != 0 && slice.last != size))
      return "a tile is cut";
    for (std::int64_t tile = slice.first / kTile; tile < tiles_in(slice.last); ++tile)
      ++holders[static_cast<std::size_t>(tile)];
  }
  if (std::ranges::count(holders, 0) > 0) return "a tile is nobody's";
  if (std::ranges::any_of(holders, [](int n) { return n > 1; })) return "a tile is of two ranks";
  return division.size() == size ? "" : "the whole has another size";
}

std::vector<std::int64_t> tiles_by_rank(const std::vector<Division>& divisions, int world) {
  std::vector<std::int64_t> tiles(static_cast<std::size_t>(world));
  for (const Division& division : divisions)
    for (Rank rank; rank.value < world; ++rank)
      tiles[static_cast<std::size_t>(rank.value)] += tiles_in(division.slice(rank).size());
  return tiles;
}

std::vector<std::int64_t> some_sizes() {
  return *rc::gen::container<std::vector<std::int64_t>>(rc::gen::oneOf(
      rc::gen::inRange<std::int64_t>(0, 50), rc::gen::inRange<std::int64_t>(kTile - 3, kTile + 3),
      rc::gen::inRange<std::int64_t>(0, 20 * kTile)));
}

RC_GTEST_PROP(Partition, GivesEveryTileToOneRank, ()) {
  const auto sizes = some_sizes();
  const auto world = *rc::gen::inRange(1, 40);  // often more ranks than tiles
  const std::vector<Division> divisions = Partition(world, world).divide(sizes);
  RC_ASSERT(divisions.size() == sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    RC_ASSERT(divisions[i].world() == world);
    RC_ASSERT(wrong_with(divisions[i], sizes[i]) == "");
  }
  const auto [least, most] = std::ranges::minmax(tiles_by_rank(divisions, world));
  RC_ASSERT(most - least <= 1);
}

RC_GTEST_PROP(Partition, FollowsFromWorldAndSizesAlone, ()) {
  const auto sizes = some_sizes();
  const auto world = *rc::gen::inRange(1, 9);
  const auto lanes = *rc::gen::inRange<std::int64_t>(world, 50);
  const std::vector<Division> one = Partition(world, world).divide(sizes),
                              other = Partition(lanes, world).divide(sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    for (Rank rank; rank.value < world; ++rank)
      RC_ASSERT(one[i].slice(rank) == other[i].slice(rank));
}

TEST(Partition, OfOneRankGivesItAll) {
  const std::vector<std::int64_t> sizes = {0, 1, kTile, 3 * kTile + 5};
  const Partition alone(7, 1);
  EXPECT_EQ(alone.lanes_of(Rank(0)), (Portion{Lane(0), 7}));
  const auto divisions = alone.divide(sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    EXPECT_EQ(divisions[i].slice(Rank(0)), (Slice{0, sizes[i]}));
}

// One tile each, in turn: what the first tensor leaves of the ranks, the next begins with.
TEST(Partition, OfMoreRanksThanTilesLeavesSomeWithNothing) {
  const auto divisions = Partition(4, 4).divide({kTile + 1, 10});
  const auto held = [&](std::size_t i) {
    std::vector<std::int64_t> floats;
    for (Rank rank; rank.value < 4; ++rank) floats.push_back(divisions[i].slice(rank).size());
    return floats;
  };
  EXPECT_EQ(held(0), (std::vector<std::int64_t>{kTile, 1, 0, 0}));
  EXPECT_EQ(held(1), (std::vector<std::int64_t>{0, 0, 10, 0}));
}

TEST(Partition, WithOneMistakeIsFound) {
  const std::int64_t size = 4 * kTile;
  const std::pair<std::vector<Slice>, std::string> cases[] = {
      {{{0, 2 * kTile}, {2 * kTile, size}}, ""},
      {{{0, 3 * kTile}, {2 * kTile, size}}, "a tile is of two ranks"},
      {{{0, size}, {0, size}}, "a tile is of two ranks"},
      {{{0, kTile}, {2 * kTile, size}}, "a tile is nobody's"},
      {{{0, 2 * kTile + 1}, {2 * kTile + 1, size}}, "a tile is cut"},
      {{{0, 2 * kTile}, {2 * kTile, size + 1}}, "a slice is not in the tensor"}};
  for (const auto& [slices, wrong] : cases) EXPECT_EQ(wrong_with(Division(slices), size), wrong);
}

RC_GTEST_PROP(Partition, CutsLanesIntoContiguousBlocksOfNearlyEqualSize, ()) {
  const auto lanes = *rc::gen::inRange<std::int64_t>(1, 100);
  const auto world = *rc::gen::inRange<int>(1, static_cast<int>(lanes) + 1);
  const Partition partition(lanes, world);
  RC_ASSERT(partition.world() == world);
  Lane next;
  std::int64_t before = lanes;
  for (Rank rank; rank.value < world; ++rank) {
    const Portion block = partition.lanes_of(rank);
    RC_ASSERT(block.first == next);
    RC_ASSERT(block.count >= lanes / world);
    RC_ASSERT(block.count <= (lanes + world - 1) / world);
    RC_ASSERT(block.count <= before);  // the larger blocks first
    before = block.count;
    for (; next < block.first + block.count; ++next) RC_ASSERT(partition.owner(next) == rank);
  }
  RC_ASSERT(next == Lane(lanes));
}

TEST(Partition, RefusesWorldsThatCannotShareTheLanes) {
  for (const int world : {-1, 0, 5}) {
    try {
      const Partition partition(4, world);
      FAIL() << world;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUsage);
    }
  }
}

}  // namespace
}  // namespace lockstep::lane
