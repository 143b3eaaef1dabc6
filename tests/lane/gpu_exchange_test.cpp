// The exchange in GPUs' memory gives the bits of the exchange in the host's, whatever the world and
// the sizes; and a tile that arrives as it was not sent is named before its sum is used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>

#include "lane/one_gpu.h"
#include "lockstep/core/error.h"
#include "lockstep/lane/exchange.h"
#include "lockstep/lane/slices.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"
#include "support/local_ranks.h"
#include "support/over_device.h"

namespace lockstep::lane {
namespace {

Floats drawn(std::uint32_t key, std::int64_t rank, std::int64_t size) {
  Floats x(static_cast<std::size_t>(size));
  ops::device().host().fill_normal({.key = {key, 4}, .micro = 0}, static_cast<std::uint64_t>(rank),
                                   1, size, x.data());
  return x;
}

struct Case {
  Plan plan;
  std::vector<std::int64_t> sizes;
  std::vector<Division> divisions;

  Case(std::int64_t lanes, int world, std::vector<std::int64_t> of)
      : plan({.lanes = lanes, .samples_per_lane = 1}, world),
        sizes(std::move(of)),
        divisions(plan.partition().divide(sizes)) {}

  // What a rank has after the exchange, and after slices were put together.
  std::vector<Floats> run(comm::Group& group) const {
    const auto rows = static_cast<std::int64_t>(plan.subtrees(group.rank()).size());
    std::vector<Contribution> mine;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      mine.push_back(
          {"tensor " + std::to_string(i),
           ops::from_host(drawn(static_cast<std::uint32_t>(i), group.rank().value, rows * sizes[i]),
                          {rows, sizes[i]}),
           divisions[i], i % 3 == 2});
    std::vector<Floats> all;
    std::vector<SlicedTensor> sliced;
    for (const Tensor& one : exchange(plan, group, mine)) {
      const std::size_t i = all.size();
      all.push_back(floats_of(one));
      if (mine[i].sliced) sliced.push_back({"slice", divisions[i], one, ops::empty({sizes[i]})});
    }
    if (sliced.empty()) return all;
    all_gather(group, sliced);
    for (const SlicedTensor& one : sliced) all.push_back(floats_of(one.whole));
    for (SlicedTensor& one : sliced)
      one.whole = group.rank() == Rank(0) ? ops::empty(one.whole.sizes()) : Tensor();
    gather(group, Rank(0), sliced);
    for (const SlicedTensor& one : sliced) all.push_back(floats_of(one.whole));
    return all;
  }

  // The same on the GPU; `changed`: a message to rank 0. Returns how many came to it.
  int run_on_gpu(const std::vector<std::vector<Floats>>& expected, int changed) const {
    std::atomic<int> messages = 0;
    comm::run_local(plan.partition().world(), [&](comm::Group& inner) {
      const auto kernels = one_gpu().gpu.kernels->clone(1);
      const ops::DeviceScope here(*kernels, one_gpu().tensors);
      testing::OverDevice group(inner);
      if (group.rank() == Rank(0)) group.change(changed);
      const std::vector<Floats> found = run(group);
      EXPECT_EQ(found, expected[static_cast<std::size_t>(group.rank().value)]);
      if (group.rank() == Rank(0)) messages = group.messages();
    });
    return messages;
  }

  std::vector<std::vector<Floats>> run_on_host() const {
    std::vector<std::vector<Floats>> results(static_cast<std::size_t>(plan.partition().world()));
    comm::run_local(plan.partition().world(), [&](comm::Group& group) {
      results[static_cast<std::size_t>(group.rank().value)] = run(group);
    });
    return results;
  }
};

RC_GTEST_PROP(GpuExchange, GivesTheHostsBits, ()) {
  const auto lanes = *rc::gen::inRange<std::int64_t>(2, 8);
  const auto world =
      *rc::gen::inRange<int>(2, static_cast<int>(std::min<std::int64_t>(lanes, 4)) + 1);
  const auto sizes = *rc::gen::nonEmpty(rc::gen::resize(
      4, rc::gen::container<std::vector<std::int64_t>>(rc::gen::oneOf(
             rc::gen::inRange<std::int64_t>(1, 50), rc::gen::inRange<std::int64_t>(4090, 4100),
             rc::gen::inRange<std::int64_t>(8000, 13000)))));
  const Case one(lanes, world, sizes);
  one.run_on_gpu(one.run_on_host(), -1);
}

TEST(GpuExchange, NamesWhatArrivedOtherwise) {
  const Case one(4, 2, {9000, 70, 20000});
  const auto expected = one.run_on_host();
  const int messages = one.run_on_gpu(expected, -1);
  EXPECT_GE(messages, 5);  // partials of the whole ones, of the sliced one; sums; two gathers
  for (int changed = 0; changed < messages; ++changed) {
    SCOPED_TRACE(changed);
    try {
      one.run_on_gpu(expected, changed);
      FAIL() << "was not found";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kDiffer);
      EXPECT_THAT(error.what(),
                  ::testing::ContainsRegex("(tensor [0-2]|slice), elements [0-9]+ to "
                                           "[0-9]+: what arrived at rank 0 is not what "
                                           "rank 1 sent"));
    }
  }
}

}  // namespace
}  // namespace lockstep::lane
