// Tiles that travel: sums are those of the tree, leaves those of the floats, and a row that is not
// as it was sent is told.
#include "lockstep/numerics/sealed.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>

#include "lockstep/core/error.h"
#include "lockstep/numerics/philox.h"
#include "numerics/device.h"
#include "numerics/with_isa.h"

namespace lockstep::numerics {
namespace {

using Floats = std::vector<float>;

hash::Leaf leaf_of(const Floats& floats) {
  return hash::leaf_hash(std::as_bytes(std::span(floats)));
}

// Tiles of rows that arrived, some of them with a bit that was not sent.
struct Tiles {
  Tiles(std::int64_t total, const std::vector<Subtree>& nodes,
        const std::vector<std::size_t>& sizes)
      : total_(total), nodes_(nodes), sizes_(sizes) {
    for (std::size_t t = 0; t < sizes.size(); ++t) {
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        Floats& row = floats_.emplace_back(sizes[t]);
        device().fill_normal({.key = {9, 8}}, floats_.size(), 1,
                             static_cast<std::int64_t>(row.size()), row.data());
        leaves_.push_back(leaf_of(row));
        travelled_.push_back(*rc::gen::arbitrary<bool>());
        broken_.push_back(*rc::gen::weightedElement<bool>({{3, false}, {1, true}}) ? 1.0F : 0.0F);
        if (broken_.back() != 0)  // of a fraction: bits of NaNs are not specified
          flip(row, 32 * *rc::gen::inRange<std::size_t>(0, row.size()) +
                        *rc::gen::inRange<std::size_t>(0, 23));
        if (!travelled_.back()) broken_.back() = 0;
      }
    }
  }

  void expect_sums() {
    std::vector<SealedRow> rows;
    for (std::size_t i = 0; i < floats_.size(); ++i)
      rows.push_back({floats_[i].data(), travelled_[i] ? &leaves_[i] : nullptr});
    std::vector<Floats> sums;
    std::vector<hash::Leaf> leaves(sizes_.size());
    for (const std::size_t size : sizes_) sums.emplace_back(size);
    std::vector<SealedTile> tiles;
    for (std::size_t t = 0; t < sums.size(); ++t)
      tiles.push_back({sums[t].data(), std::ssize(sums[t]), t % 3 == 2 ? nullptr : &leaves[t]});
    Floats broken(rows.size(), 7);
    device().sum_sealed(total_, nodes_, rows, tiles, broken.data());
    EXPECT_EQ(broken, broken_);
    for (std::size_t t = 0; t < sums.size(); ++t) {
      EXPECT_EQ(first_difference(sums[t], sum_of(t)), -1);
      EXPECT_EQ(leaves[t], t % 3 == 2 ? hash::Leaf() : leaf_of(sums[t]));
    }
  }

 private:
  static void flip(Floats& row, std::size_t bit) {
    auto* const words = reinterpret_cast<unsigned char*>(row.data());
    words[bit / 8] = static_cast<unsigned char>(words[bit / 8] ^ 1U << bit % 8);
  }

  Floats sum_of(std::size_t t) const {
    std::vector<const float*> rows;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      rows.push_back(floats_[t * nodes_.size() + i].data());
    Floats sum(sizes_[t]);
    cpu().tree_sum_nodes(total_, nodes_, rows.data(), std::ssize(sum), sum.data());
    return sum;
  }

  std::int64_t total_;
  std::vector<Subtree> nodes_;
  std::vector<std::size_t> sizes_;
  std::vector<Floats> floats_;  // rows, tile by tile
  std::vector<hash::Leaf> leaves_;
  std::vector<bool> travelled_;
  Floats broken_;
};

RC_GTEST_PROP(Sealed, SumsAreTheTreesAndChangedRowsAreTold, ()) {
  const auto total = *rc::gen::inRange<std::int64_t>(1, 12);
  const auto cut = *rc::gen::inRange<std::int64_t>(0, total);
  std::vector<Subtree> nodes = maximal_subtrees(total, 0, cut);
  for (const Subtree& node : maximal_subtrees(total, cut, total - cut)) nodes.push_back(node);
  const auto sizes = *rc::gen::resize(
      4, rc::gen::container<std::vector<std::size_t>>(rc::gen::oneOf(
             rc::gen::inRange<std::size_t>(1, 30), rc::gen::inRange<std::size_t>(4090, 4097),
             rc::gen::just<std::size_t>(513))));
  Tiles tiles(total, nodes, sizes);
  with_every_isa([&] { tiles.expect_sums(); });
}

// As parcels are packed: a row a tile, nothing to check, and perhaps in its place.
TEST(Sealed, OneNodeIsACopy) {
  with_every_isa([] {
    Floats x(1000, 1.5F), y(1000);
    x[999] = -0.0F;
    const Subtree one{0, 1};
    for (Floats* to : {&y, &x}) {
      const SealedRow row{x.data(), nullptr};
      hash::Leaf leaf;
      const SealedTile tile{to->data(), 1000, &leaf};
      device().sum_sealed(1, {&one, 1}, {&row, 1}, {&tile, 1}, nullptr);
      EXPECT_EQ(first_difference(*to, x), -1);
      EXPECT_EQ(leaf, leaf_of(x));
    }
  });
}

TEST(Sealed, RefusesWhatIsNoCutOfTheTree) {
  with_every_isa([] {
    Floats x(8), y(8);
    const std::vector<SealedRow> rows(2, {x.data(), nullptr});
    const SealedTile tile{y.data(), 8, nullptr};
    const std::vector<Subtree> nodes = {{0, 1}, {1, 2}};  // of three lanes: {0, 2}, {2, 1}
    EXPECT_THROW(device().sum_sealed(3, nodes, rows, {&tile, 1}, nullptr), Error);
    EXPECT_THROW(device().sum_sealed(3, nodes, {rows.data(), 1}, {&tile, 1}, nullptr), Error);
  });
}

}  // namespace
}  // namespace lockstep::numerics
