// Portions that go through the passes side by side give the bits of all lanes at once, whoever
// comes first.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "lane/pending.h"
#include "lockstep/lane/backward.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/beside.h"
#include "lockstep/ops/device.h"
#include "support/local_ranks.h"

namespace lockstep::lane {
namespace {

using Streams = std::vector<std::vector<Portion>>;

RC_GTEST_PROP(Streams, TakeAllLanesInOrderAndNoMoreAtATime, ()) {
  const auto lanes = *rc::gen::inRange<std::int64_t>(1, 60);
  const auto world = *rc::gen::inRange<int>(1, static_cast<int>(lanes) + 1);
  const auto at_once = *rc::gen::inRange<std::int64_t>(0, 20);
  const auto count = *rc::gen::inRange<int>(1, 20);
  const Plan plan({.lanes = lanes, .samples_per_lane = 1}, world);
  for (int r = 0; r < world; ++r) {
    const Portion all = plan.partition().lanes_of(Rank(r));
    const Streams streams = plan.streams(Rank(r), at_once, count);
    const std::int64_t most = at_once == 0 ? all.count : std::min(at_once, all.count);
    RC_ASSERT(std::ssize(streams) == std::min<std::int64_t>(count, most));
    std::int64_t next = all.first.value, there = 0;
    for (const auto& stream : streams) {
      std::int64_t largest = 0;
      for (const Portion& portion : stream) {
        RC_ASSERT(portion.first.value == next);
        RC_ASSERT(portion.count >= 1);
        next += portion.count;
        largest = std::max(largest, portion.count);
      }
      there += largest;
    }
    RC_ASSERT(next == all.first.value + all.count);
    RC_ASSERT(there <= most);
  }
}

void wait(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

Tensor drawn(std::uint32_t key, std::int64_t first, std::int64_t rows, std::int64_t width) {
  Tensor x = ops::empty({rows, width});
  ops::device().fill_normal({.key = {key, 6}, .micro = 0}, static_cast<std::uint64_t>(first), rows,
                            width, ops::write(x));
  return x;
}

// Two linear layers, the first used twice, with a place where a stream can be held up.
struct Model {
  Tensor in = drawn(1, 0, 4, 4), out = drawn(2, 0, 4, 3);
  Model() {
    in.requires_grad_(true);
    out.requires_grad_(true);
  }

  Tensor loss(Context& context, const std::function<void()>& during_backward) const {
    const auto& lanes = context.lanes();
    const Tensor x =
        drawn(3, context.portion().first.value * lanes.samples_per_lane, lanes.samples(), 4);
    Tensor h = ops::silu(ops::linear(lanes, x, context.enter(in), Tensor()));
    h = ops::record("hold up", {h}, ops::bare(h).clone(), ops::Differentiable::kOnce,
                    [=](const Tensor& g, const std::vector<bool>&) -> ops::Tensors {
                      during_backward();
                      return {g};
                    });
    h = ops::silu(ops::linear(lanes, h, context.enter(in), Tensor()));
    return ops::lane_sums(lanes,
                          ops::row_squares(ops::linear(lanes, h, context.enter(out), Tensor())));
  }
};

struct Delays {
  std::function<int(std::size_t stream)> before = [](std::size_t) { return 0; };
  std::function<int(std::size_t stream)> within = [](std::size_t) { return 0; };  // a backward pass
};

// All bits of a phase: the loss, then gradients.
std::vector<float> phase(const Plan& plan, comm::Group& group, const Streams& streams,
                         const Delays& delays) {
  numerics::Cpu cpu(static_cast<int>(streams.size()));
  const ops::DeviceScope here(cpu);
  const Model model;
  Context all(plan, group);
  std::vector<Portion> portions;
  for (const auto& stream : streams) portions.insert(portions.end(), stream.begin(), stream.end());
  Backward sums(all, portions, 1.0F / static_cast<float>(plan.batch()), {model.in, model.out});
  ops::side_by_side(streams.size(), [&](std::size_t i, const ops::Stopped&) {
    for (const Portion& portion : streams[i]) {
      wait(delays.before(i));
      Context context(plan, group, portion);
      sums.portion(context, model.loss(context, [&, i] { wait(delays.within(i)); }));
    }
  });
  const PhaseGradients result = sums.finish();
  std::vector<float> floats = {result.loss_sum()};
  for (const Tensor& gradient : result.gradients)
    floats.insert(floats.end(), ops::read(gradient), ops::read(gradient) + gradient.numel());
  return floats;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Whoever is first: in order, in reverse, all but the middle ones, and each at another place of its
// backward pass.
TEST(Streams, GiveTheSameBitsInWhateverOrderTheyCome) {
  const auto forward = [](std::size_t i) { return 4 * static_cast<int>(i); };
  const auto reverse = [](std::size_t i) { return 20 - 4 * static_cast<int>(i); };
  const auto middle = [](std::size_t i) { return i % 2 == 1 ? 10 : 0; };
  const auto none = [](std::size_t) { return 0; };
  const std::vector<Delays> orders = {{none, none},    {forward, none},    {reverse, none},
                                      {none, forward}, {none, reverse},    {middle, none},
                                      {none, middle},  {forward, reverse}, {reverse, forward}};
  for (const std::int64_t lanes : {5, 6, 11}) {
    const Plan whole({.lanes = lanes, .samples_per_lane = 3}, 1);
    std::vector<float> expected;
    comm::run_local(1, [&](comm::Group& group) {
      expected = phase(whole, group, whole.streams(Rank(0), 0, 1), {});
    });
    for (const int world : {1, 2}) {
      const Plan plan({.lanes = lanes, .samples_per_lane = 3}, world);
      for (const int count : {2, 3, 5}) {
        for (const std::int64_t at_once : {0, 3}) {
          for (std::size_t order = 0; order < orders.size(); ++order) {
            comm::run_local(world, [&](comm::Group& group) {
              EXPECT_TRUE(same_bits(
                  expected,
                  phase(plan, group, plan.streams(group.rank(), at_once, count), orders[order])))
                  << lanes << " lanes, " << world << " ranks, " << count << " streams, " << at_once
                  << " at once, order " << order;
            });
          }
        }
      }
    }
  }
}

// Many threads at once, each with partials of one lane; nothing holds them in any order.
TEST(Streams, BringPartialsFromManyThreads) {
  constexpr std::int64_t kLanes = 29;
  const Plan plan({.lanes = kLanes, .samples_per_lane = 1}, 1);
  const Tensor rows = drawn(4, 0, kLanes, 257);
  Tensor expected = ops::empty({1, 257});
  std::vector<const float*> of_lanes;
  for (std::int64_t lane = 0; lane < kLanes; ++lane)
    of_lanes.push_back(ops::read(rows) + lane * 257);
  ops::device().tree_sum(of_lanes.data(), kLanes, 257, ops::write(expected));
  for (int repetition = 0; repetition < 50; ++repetition) {
    PendingPartials pending;
    std::atomic<int> complete = 0;
    {
      std::vector<std::jthread> threads;
      for (std::int64_t first = 0; first < 4; ++first)
        threads.emplace_back([&, first] {
          for (std::int64_t lane = first; lane < kLanes; lane += 4)
            complete += pending.add(plan, {{0, kLanes}}, {{lane, 1}}, rows.narrow(0, lane, 1));
        });
    }
    ASSERT_EQ(complete, 1);
    const Tensor sum = pending.take();
    ASSERT_EQ(std::memcmp(ops::read(sum), ops::read(expected), 257 * sizeof(float)), 0);
  }
}

}  // namespace
}  // namespace lockstep::lane
