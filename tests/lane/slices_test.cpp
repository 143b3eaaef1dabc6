// Tensors in slices: put together they are what they were, for any world size and any sizes; and a
// gradient that stays sliced is the slice of the whole one.
#include "lockstep/lane/slices.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "lockstep/lane/exchange.h"
#include "lockstep/numerics/philox.h"
#include "lockstep/ops/device.h"
#include "support/local_ranks.h"

namespace lockstep::lane {
namespace {

using Floats = std::vector<float>;

Floats floats_of(const Tensor& x) {
  return {ops::read(x), ops::read(x) + x.numel()};
}

Tensor normal(std::uint32_t number, std::int64_t size) {
  Tensor x = ops::empty({size});
  ops::device().fill_normal({.key = {number, 9}, .micro = 0}, 0, 1, size, ops::write(x));
  return x;
}

Tensor cut(const Tensor& whole, Slice slice) {
  Tensor part = ops::empty({slice.size()});
  std::copy_n(ops::read(whole) + slice.first, slice.size(), ops::write(part));
  return part;
}

// Around one, two and more tiles of 4096.
std::vector<std::int64_t> some_sizes() {
  return *rc::gen::nonEmpty(rc::gen::resize(
      6, rc::gen::container<std::vector<std::int64_t>>(rc::gen::oneOf(
             rc::gen::inRange<std::int64_t>(1, 50), rc::gen::inRange<std::int64_t>(4090, 4100),
             rc::gen::inRange<std::int64_t>(20000, 30000)))));
}

RC_GTEST_PROP(Slices, MakeTheWholeAgain, ()) {
  const auto world = *rc::gen::inRange(1, 7);
  const auto sizes = some_sizes();
  const auto root = Rank(*rc::gen::inRange<std::int64_t>(0, world));
  const std::vector<Division> divisions = Partition(world, world).divide(sizes);
  comm::run_local(world, [&](comm::Group& group) {
    std::vector<SlicedTensor> sliced;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      sliced.push_back(
          {"tensor", divisions[i],
           cut(normal(static_cast<std::uint32_t>(i), sizes[i]), divisions[i].slice(group.rank())),
           ops::filled({sizes[i]}, -1.0F)});
    const auto expect = [&] {
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        EXPECT_EQ(floats_of(sliced[i].whole),
                  floats_of(normal(static_cast<std::uint32_t>(i), sizes[i])));
        sliced[i].whole = ops::filled({sizes[i]}, -1.0F);
      }
    };
    all_gather(group, sliced);
    expect();
    if (group.rank() != root) {
      for (SlicedTensor& one : sliced) one.whole = Tensor();
    }
    gather(group, root, sliced);
    if (group.rank() == root) expect();
  });
}

RC_GTEST_PROP(Slices, AreWhatTheExchangeLeavesSliced, ()) {
  const auto lanes = *rc::gen::inRange<std::int64_t>(2, 9);
  const auto world = *rc::gen::inRange<int>(2, static_cast<int>(lanes) + 1);
  const auto sizes = some_sizes();
  const Plan plan({.lanes = lanes, .samples_per_lane = 1}, world);
  const std::vector<Division> divisions = plan.partition().divide(sizes);
  comm::run_local(world, [&](comm::Group& group) {
    const auto rows = static_cast<std::int64_t>(plan.subtrees(group.rank()).size());
    std::vector<Contribution> whole, some_sliced;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto stream =
          static_cast<std::uint32_t>(100 * i) + static_cast<std::uint32_t>(group.rank().value);
      const Tensor partials = normal(stream, rows * sizes[i]).view({rows, sizes[i]});
      whole.push_back({"tensor", partials, divisions[i]});
      some_sliced.push_back({"tensor", partials, divisions[i], i % 3 != 1});
    }
    const auto expected = exchange(plan, group, whole), sums = exchange(plan, group, some_sliced);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Slice& slice = divisions[i].slice(group.rank());
      EXPECT_EQ(floats_of(sums[i]), some_sliced[i].sliced ? floats_of(cut(expected[i], slice))
                                                          : floats_of(expected[i]));
    }
  });
}

}  // namespace
}  // namespace lockstep::lane
