// Buckets of gradients in GPUs' memory: in every launch of what was captured, while kernels go on,
// in as much memory as is planned; and what is left when their exchange fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "lane/one_gpu.h"
#include "lockstep/comm/queue.h"
#include "lockstep/core/error.h"
#include "lockstep/lane/exchange.h"
#include "lockstep/lane/messages.h"
#include "lockstep/numerics/cpu.h"
#include "support/gpu/stream.h"
#include "support/local_ranks.h"
#include "support/over_device.h"

namespace lockstep::lane {
namespace {

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
    const auto kernels = one_gpu().gpu.kernels->clone(1);
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
TEST(GpuOutbox, IsInEveryLaunchOfWhatWasCapturedOnTheHost) {
  exchange_in_every_launch(false);
}
TEST(GpuOutbox, IsInEveryLaunchOfWhatWasCapturedInGpusMemory) {
  exchange_in_every_launch(true);
}

// What an exchange takes of the GPU's memory, beside the partials.
enum class Kept { kWhole, kSliced, kMixed };
void takes_what_is_planned(int world, Kept which) {
  const Plan plan({.lanes = 2 * world, .samples_per_lane = 1}, world);  // of a rank, one subtree
  // Three buckets, of 32 MiB but for the first. The last is the largest: only then all places of
  // sums are there.
  const std::vector<std::int64_t> sizes = {600'000, 70, 8'400'000, 500'000, 9'000'000};
  const std::vector<Division> divisions = plan.partition().divide(sizes);
  comm::run_local(world, [&](comm::Group& inner) {
    const bool first = inner.rank() == Rank(0);
    numerics::Cpu cpu;
    const auto kernels = one_gpu().gpu.kernels->clone(1);
    const ops::DeviceScope here(first ? *kernels : cpu, first ? one_gpu().tensors : at::kCPU);
    testing::OverDevice group(inner);
    std::vector<Outbox::Expected> expected;
    std::vector<Tensor> partials;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const bool sliced = which == Kept::kSliced || (which == Kept::kMixed && i % 2 == 0);
      expected.push_back({"tensor " + std::to_string(i), sizes[i], {}, sliced});
      if (sliced) expected.back().kept = divisions[i];
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
        {.plan = plan, .rank = group.rank(), .in_device = true, .divided = which != Kept::kWhole},
        expected);
    EXPECT_LE(most, static_cast<double>(planned.in_flight + planned.kept));
    EXPECT_GE(most, 0.95 * static_cast<double>(planned.in_flight + planned.kept));
  });
}
TEST(GpuOutbox, TakesWhatIsPlanned) {
  for (const int world : {2, 3, 5}) {
    for (const Kept which : {Kept::kWhole, Kept::kSliced, Kept::kMixed}) {
      SCOPED_TRACE(::testing::PrintToString(std::pair(world, static_cast<int>(which))));
      takes_what_is_planned(world, which);
    }
  }
}

// Calls `before` where partials or sums leave, in the thread that sends them.
class Watched final : public comm::Group {
 public:
  Watched(comm::Group& inner, std::function<void()> before)
      : inner_(inner), before_(std::move(before)) {}

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
  std::unique_ptr<comm::Operation> begin_all_to_all(std::span<const ByteView> to,
                                                    std::span<const MutableByteView> from,
                                                    comm::Memory memory) override {
    before_();
    return inner_.begin_all_to_all(to, from, memory);
  }
  std::unique_ptr<comm::Operation> begin_all_gather(ByteView mine,
                                                    std::span<const MutableByteView> from,
                                                    comm::Memory memory) override {
    before_();
    return inner_.begin_all_gather(mine, from, memory);
  }

 private:
  comm::Group& inner_;
  const std::function<void()> before_;
};

void wait_for_launches(std::int64_t count) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::seconds(300);
  while (test::gpu::calls_so_far().launches < count && Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(test::gpu::calls_so_far().launches, count);
}

TEST(GpuOutbox, GraphsAreLaunchedWhileABucketIsOnItsWay) {
  const InCaptured all;
  comm::run_local(2, [&](comm::Group& inner) {
    if (inner.rank() == Rank(1)) {
      all.step(inner, 1);
      return;
    }
    const auto kernels = one_gpu().gpu.kernels->clone(1);
    const ops::DeviceScope here(*kernels, one_gpu().tensors);
    std::atomic<std::int64_t> launches = 0;
    Watched watched(inner, [&] { wait_for_launches(launches); });
    comm::Queue queue(watched);
    const auto captured = kernels->capture([&] { all.step(queue, 0); });
    // All but that which needs the sums.
    launches = test::gpu::calls_so_far().launches + 3;
    captured->launch(10);
  });
}

TEST(GpuOutbox, ALaunchNamesWhatArrivedOtherwise) {
  const InCaptured all;
  try {
    comm::run_local(2, [&](comm::Group& inner) {
      testing::OverDevice over(inner);
      comm::Queue queue(over);
      if (inner.rank() == Rank(1)) {
        for (int i = 0; i < 2; ++i) all.step(queue, 1);
        return;
      }
      const auto kernels = one_gpu().gpu.kernels->clone(1);
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

// Else sums that were on their way would come where others have their tensors by then. What fails:
// the exchange, or the step that it belongs to.
void leaves_no_kernel_behind(bool exchange_fails) {
  const Plan plan({.lanes = 2, .samples_per_lane = 1}, 2);
  constexpr std::size_t kBuckets = 4, kFloats = 1'100'000;  // a tensor each
  const auto filled = [](float value) {
    return ops::from_host(Floats(kFloats, value), {1, std::int64_t{kFloats}});
  };
  const auto put_all = [&](comm::Group& group) {
    Outbox outbox(plan, group, std::vector<Outbox::Expected>(kBuckets, {"one", kFloats, {}}));
    for (std::size_t i = 0; i < kBuckets; ++i) outbox.put(i, filled(1));
    if (!exchange_fails && group.rank() == Rank(0)) {
      group.start([](comm::Group&) {}, nullptr).get();  // the jobs so far
      throw Error(Code::kEnvironment, "no memory");
    }
    outbox.finish();
  };
  try {
    comm::run_local(2, [&](comm::Group& inner) {
      if (inner.rank() == Rank(1)) return put_all(inner);
      const auto kernels = one_gpu().gpu.kernels->clone(1);
      const ops::DeviceScope here(*kernels, one_gpu().tensors);
      std::size_t sent = 0;
      Watched watched(inner, [&] {  // the last sums; those of another bucket are being copied
        if (++sent == 2 * kBuckets && exchange_fails) throw Error(Code::kEnvironment, "no cable");
      });
      comm::Queue queue(watched);
      EXPECT_THROW(put_all(queue), Error);
      std::vector<Tensor> others;
      for (std::size_t i = 0; i < 3 * kBuckets; ++i) others.push_back(filled(7));
      for (int i = 0; i < 60; ++i)  // whatever else is to be done
        EXPECT_EQ(floats_of(ops::from_host(Floats{7}, {1})), Floats{7});
      for (const Tensor& one : others) EXPECT_EQ(floats_of(one), Floats(kFloats, 7));
      throw Error(Code::kEnvironment, "no cable");  // to the other rank
    });
    FAIL() << "no rank failed";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no cable");
  }
}

TEST(GpuOutbox, LeavesNoKernelBehindWhenItFails) {
  leaves_no_kernel_behind(true);
}
TEST(GpuOutbox, LeavesNoKernelBehindWhenTheStepFails) {
  leaves_no_kernel_behind(false);
}

}  // namespace
}  // namespace lockstep::lane
