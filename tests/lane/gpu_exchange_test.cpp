// The exchange in GPUs' memory gives the bits of the exchange in the host's, whatever the world and
// the sizes; and a tile that arrives as it was not sent is named before its sum is used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "lockstep/comm/local.h"
#include "lockstep/comm/queue.h"
#include "lockstep/core/error.h"
#include "lockstep/lane/exchange.h"
#include "lockstep/lane/messages.h"
#include "lockstep/lane/slices.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/philox.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/ops/record.h"
#include "support/gpu/gpu.h"
#include "support/gpu/stream.h"
#include "support/over_device.h"

namespace lockstep::lane {
namespace {

using Floats = std::vector<float>;

// Tensors of one GPU, whose memory the host cannot read; each rank has a device of its own there.
struct OneGpu {
  numerics::Gpu gpu = test::gpu::open_gpu(3);
  at::Device tensors = ops::gpu_tensors(gpu.memory);
};
const OneGpu& one_gpu() {
  static const auto& one = *new OneGpu;
  return one;
}

Floats drawn(std::uint32_t key, std::int64_t rank, std::int64_t size) {
  Floats x(static_cast<std::size_t>(size));
  ops::device().host().fill_normal({.key = {key, 4}, .micro = 0}, static_cast<std::uint64_t>(rank),
                                   1, size, x.data());
  return x;
}

Floats floats_of(const Tensor& x) {
  const ops::HostView values(x);
  return {values.floats().begin(), values.floats().end()};
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
      const auto kernels = one_gpu().gpu.kernels->another(1);
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

// Contributions that a captured step makes, among ranks of which the first computes there.
struct InCaptured {
  const Plan plan{{.lanes = 5, .samples_per_lane = 1}, 2};
  const std::vector<std::int64_t> sizes = {1, 300'000, 70, 9000, 1'100'000, 5000, 40'000};
  const std::vector<Division> divisions = plan.partition().divide(sizes);

  // What the rank has of tensor `i` in a step; drawn by the device, so that it is captured.
  Tensor partials(Rank rank, std::size_t i, std::uint64_t step) const {
    const auto rows = static_cast<std::int64_t>(plan.subtrees(rank).size());
    Tensor x = ops::empty({rows, sizes[i]});
    ops::device().fill_normal({.key = {static_cast<std::uint32_t>(i), 5}, .micro = 0},
                              10 * step + static_cast<std::uint64_t>(rank.value), rows, sizes[i],
                              ops::write(x));
    return x;
  }
  // Their sums, doubled; what is put last is not in its order, and one thing is never put.
  std::vector<Tensor> step(comm::Group& group, std::uint64_t number) const {
    std::vector<Outbox::Expected> expected;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      expected.push_back({"tensor " + std::to_string(i), sizes[i],
                          i % 3 == 1 ? std::optional(divisions[i]) : std::nullopt});
    Outbox outbox(plan, group, expected);
    for (const std::size_t i : {0, 1, 2, 4, 3, 6}) outbox.put(i, partials(group.rank(), i, number));
    std::vector<Tensor> sums = outbox.finish();
    for (Tensor& one : sums) {
      if (!one.defined()) continue;
      Tensor twice = ops::empty(one.sizes());
      ops::device().binary(numerics::Binary::kAdd, one.numel(), ops::read(one), ops::read(one),
                           ops::write(twice));
      one = twice;
    }
    return sums;
  }
  static std::vector<Floats> values(const std::vector<Tensor>& tensors) {
    std::vector<Floats> all;
    for (const Tensor& one : tensors) all.push_back(one.defined() ? floats_of(one) : Floats());
    return all;
  }
};

void exchange_in_every_launch(bool in_gpu_memory) {
  const InCaptured all;
  constexpr std::uint64_t kSteps[] = {1, 2, 3, 1};
  std::vector<std::vector<Floats>> expected;
  comm::run_local(2, [&](comm::Group& group) {
    for (const std::uint64_t number : kSteps) {
      const auto found = InCaptured::values(all.step(group, number));
      if (group.rank() == Rank(0)) expected.push_back(found);
    }
  });
  comm::run_local(2, [&](comm::Group& inner) {
    testing::OverDevice over(inner);
    comm::Queue queue(in_gpu_memory ? over : inner);
    if (inner.rank() == Rank(1)) {
      for (const std::uint64_t number : kSteps) all.step(queue, number);
      return;
    }
    const auto kernels = one_gpu().gpu.kernels->another(1);
    const ops::DeviceScope here(*kernels, one_gpu().tensors);
    std::vector<Tensor> sums;
    const auto captured = kernels->capture([&] { sums = all.step(queue, 0); });
    EXPECT_EQ(over.messages(), 0) << "it is exchanged in launches";
    for (std::size_t i = 0; i < std::size(kSteps); ++i) {
      captured->launch(10 * kSteps[i]);
      EXPECT_EQ(InCaptured::values(sums), expected[i]);
    }
    EXPECT_EQ(over.messages() > 0, in_gpu_memory);
  });
}
TEST(GpuExchange, IsInEveryLaunchOfWhatWasCapturedOnTheHost) {
  exchange_in_every_launch(false);
}
TEST(GpuExchange, IsInEveryLaunchOfWhatWasCapturedInGpusMemory) {
  exchange_in_every_launch(true);
}

// What an exchange takes of the GPU's memory, beside the partials.
enum class Kept { kWhole, kSliced, kMixed };
void takes_what_is_planned(int world, Kept which) {
  const Plan plan({.lanes = 2 * world, .samples_per_lane = 1}, world);  // of a rank, one subtree
  // Three buckets. The last is the largest: only then all places of sums are there.
  const std::vector<std::int64_t> sizes = {600'000, 70, 400'000, 700'000, 500'000, 1'100'000};
  const std::vector<Division> divisions = plan.partition().divide(sizes);
  comm::run_local(world, [&](comm::Group& inner) {
    const bool first = inner.rank() == Rank(0);
    numerics::Cpu cpu;
    const auto kernels = one_gpu().gpu.kernels->another(1);
    const ops::DeviceScope here(first ? *kernels : cpu, first ? one_gpu().tensors : at::kCPU);
    testing::OverDevice group(inner);
    std::vector<Outbox::Expected> expected;
    std::vector<Tensor> partials;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const bool sliced = which == Kept::kSliced || (which == Kept::kMixed && i % 2 == 0);
      const auto kept = sliced ? std::optional(divisions[i]) : std::nullopt;
      expected.push_back({"tensor " + std::to_string(i), sizes[i], kept, sliced});
      partials.push_back(ops::from_host(Floats(static_cast<std::size_t>(sizes[i])), {1, sizes[i]}));
    }
    const std::size_t before = testing::far::bytes_in_use();
    if (first) testing::far::most_in_use();
    Outbox outbox(plan, group, expected);
    for (std::size_t i = 0; i < sizes.size(); ++i) outbox.put(i, partials[i]);
    const std::vector<Tensor> sums = outbox.finish();
    if (!first) return;
    const auto most = static_cast<double>(testing::far::most_in_use() - before);
    const MessageBytes planned = messages_of(
        {.plan = plan, .rank = group.rank(), .divided = which != Kept::kWhole}, expected);
    EXPECT_LE(most, static_cast<double>(planned.in_flight + planned.kept));
    EXPECT_GE(most, 0.95 * static_cast<double>(planned.in_flight + planned.kept));
  });
}
TEST(GpuExchange, TakesWhatIsPlanned) {
  for (const int world : {2, 3, 5}) {
    for (const Kept which : {Kept::kWhole, Kept::kSliced, Kept::kMixed}) {
      SCOPED_TRACE(::testing::PrintToString(std::pair(world, static_cast<int>(which))));
      takes_what_is_planned(world, which);
    }
  }
}

// Whose first message does not leave before so many launches were made.
class Held final : public comm::Group {
 public:
  explicit Held(comm::Group& inner) : inner_(inner) {}
  void hold(std::int64_t launches) { until_ = launches; }

  Rank rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void broadcast(Rank root, MutableByteView buffer) override { inner_.broadcast(root, buffer); }
  void barrier() override { inner_.barrier(); }
  void abort(const Error& reason) override { inner_.abort(reason); }
  void all_to_all(std::span<const ByteView> to, std::span<const MutableByteView> from,
                  comm::Memory memory) override {
    inner_.all_to_all(to, from, memory);
  }
  void all_gather(ByteView mine, std::span<const MutableByteView> from,
                  comm::Memory memory) override {
    inner_.all_gather(mine, from, memory);
  }
  std::unique_ptr<comm::Verb> begin_all_to_all(std::span<const ByteView> to,
                                               std::span<const MutableByteView> from,
                                               comm::Memory memory) override {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + std::chrono::seconds(30);
    while (test::gpu::calls_so_far().launches < until_ && Clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_GE(test::gpu::calls_so_far().launches, until_);
    return inner_.begin_all_to_all(to, from, memory);
  }

 private:
  comm::Group& inner_;
  std::atomic<std::int64_t> until_ = 0;
};

TEST(GpuExchange, GraphsAreLaunchedWhileABucketIsOnItsWay) {
  const InCaptured all;
  comm::run_local(2, [&](comm::Group& inner) {
    if (inner.rank() == Rank(1)) {
      all.step(inner, 1);
      return;
    }
    const auto kernels = one_gpu().gpu.kernels->another(1);
    const ops::DeviceScope here(*kernels, one_gpu().tensors);
    Held held(inner);
    comm::Queue queue(held);
    const auto captured = kernels->capture([&] { all.step(queue, 0); });
    // All but that which needs the sums.
    held.hold(test::gpu::calls_so_far().launches + 3);
    captured->launch(10);
  });
}

TEST(GpuExchange, ALaunchNamesWhatArrivedOtherwise) {
  const InCaptured all;
  try {
    comm::run_local(2, [&](comm::Group& inner) {
      testing::OverDevice over(inner);
      comm::Queue queue(over);
      if (inner.rank() == Rank(1)) {
        for (int i = 0; i < 2; ++i) all.step(queue, 1);
        return;
      }
      const auto kernels = one_gpu().gpu.kernels->another(1);
      const ops::DeviceScope here(*kernels, one_gpu().tensors);
      const auto captured = kernels->capture([&] { all.step(queue, 0); });
      captured->launch(10);
      over.change(over.messages() + 1);
      captured->launch(10);
    });
    FAIL() << "was not found";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kDiffer);
    EXPECT_THAT(error.what(), ::testing::ContainsRegex("tensor [0-9], elements [0-9]+ to [0-9]+: "
                                                       "what arrived at rank 0 is not what rank 1 "
                                                       "sent"));
  }
}

}  // namespace
}  // namespace lockstep::lane
