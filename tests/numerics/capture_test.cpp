// Captured work (numerics/device.h): on an emulated GPU, on real and interpreted ones.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gpu_floats.h"
#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "numerics/cuda/graphs.h"
#include "support/gpu/gpu.h"

namespace lockstep::numerics {
namespace {

constexpr std::int64_t kFloats = 1000;
constexpr Stream kStream{{{5, 7}}, 3};

const Gpu& gpu() {
  static const Gpu opened = test::gpu::open_gpu(3);
  return opened;
}
Device& device() {
  return *gpu().kernels;
}

// Floats on the GPU.
struct There : GpuFloats {
  There() : GpuFloats(*gpu().memory, kFloats) {}

  std::vector<float> values() const {
    std::vector<float> values(kFloats);
    device().to_host(kFloats * sizeof(float), *this, values.data());
    return values;
  }
};

// The number of the sample, in each float.
void number(std::uint64_t sample, void* to) {
  auto* const floats = static_cast<float*>(to);
  for (std::int64_t i = 0; i < kFloats; ++i) floats[i] = static_cast<float>(sample);
}

// (normals at `first` + number of the sample) * constants: with memory of its own.
void work(Device& on, std::uint64_t first, float* out) {
  const There normals, numbers, constants;
  on.fill_normal(kStream, first, 2, kFloats / 2, normals);
  on.from_host_by(
      kFloats * sizeof(float), [=](std::uint64_t moved, void* to) { number(first + moved, to); },
      numbers);
  std::vector<float> seven(kFloats, 7);
  on.from_host(kFloats * sizeof(float), seven.data(), constants);
  seven.assign(kFloats, 8);  // the host's memory is the caller's again
  on.binary(Binary::kAdd, kFloats, normals, numbers, out);
  on.binary(Binary::kMultiply, kFloats, out, constants, out);
}

std::vector<float> expected(std::uint64_t first) {
  std::vector<float> out(kFloats), numbers(kFloats);
  const std::vector<float> sevens(kFloats, 7);
  Cpu cpu;
  cpu.fill_normal(kStream, first, 2, kFloats / 2, out.data());
  number(first, numbers.data());
  cpu.binary(Binary::kAdd, kFloats, out.data(), numbers.data(), out.data());
  cpu.binary(Binary::kMultiply, kFloats, out.data(), sevens.data(), out.data());
  return out;
}

TEST(Capture, ALaunchIsTheCallsForItsSamples) {
  const There out;
  device().fill(kFloats, 1, out);
  const auto captured = device().capture([&] { work(device(), 10, out); });
  ASSERT_NE(captured, nullptr);
  EXPECT_EQ(out.values(), std::vector<float>(kFloats, 1)) << "nothing was done yet";
  for (const std::uint64_t moved : {0U, 5U, 1U, 0U}) {
    captured->launch(moved);
    EXPECT_EQ(out.values(), expected(10 + moved)) << moved;
  }
  captured->launch(0 - std::uint64_t{3});
  EXPECT_EQ(out.values(), expected(7));
  work(device(), 20, out);
  EXPECT_EQ(out.values(), expected(20)) << "what is not captured is not moved";
}

// Nobody waits in between: what the host works out belongs to its launch.
TEST(Capture, LaunchesOneAfterTheOther) {
  const There out;
  const auto captured = device().capture([&] { work(device(), 10, out); });
  for (int i = 0; i < 10; ++i) {
    std::vector<std::unique_ptr<There>> kept;
    for (std::uint64_t moved = 0; moved < 5; ++moved) {
      captured->launch(moved);
      kept.push_back(std::make_unique<There>());
      device().copy(kFloats * sizeof(float), out, *kept.back());
    }
    for (std::uint64_t moved = 0; moved < 5; ++moved)
      EXPECT_EQ(kept[moved]->values(), expected(10 + moved)) << moved;
  }
}

TEST(Capture, OtherDevicesAndThreadsAreCaptured) {
  const There out;
  device().fill(kFloats, 1, out);
  const auto captured = device().capture([&] {
    const std::unique_ptr<Device> other = device().clone();
    std::jthread([&] { work(*other, 10, out); });
  });
  EXPECT_EQ(out.values(), std::vector<float>(kFloats, 1));
  captured->launch(2);
  EXPECT_EQ(out.values(), expected(12));
}

// Between captured calls the host looks, and goes on from what it saw.
TEST(Capture, WhatComesApartIsCalledInItsPlace) {
  const There out, seen;
  const std::unique_ptr<Device> other = device().clone();
  std::vector<std::vector<float>> found;
  const auto look = [&] {
    found.push_back(out.values());
    other->copy(kFloats * sizeof(float), out, seen);
  };
  const auto captured = device().capture([&] {
    for (const std::uint64_t first : {10U, 20U, 30U, 40U}) {
      work(device(), first, out);
      // Whichever device it is of; and it does not matter that nothing was called in between.
      other->outside_graph(look);
      if (first == 20) device().outside_graph([&] { found.push_back(seen.values()); });
    }
    device().binary(Binary::kAdd, kFloats, seen, seen, out);
  });
  EXPECT_TRUE(found.empty()) << "it is called in launches";
  for (const std::uint64_t moved : {0U, 5U, 1U}) {
    captured->launch(moved);
    EXPECT_EQ(found, (std::vector{expected(10 + moved), expected(20 + moved), expected(20 + moved),
                                  expected(30 + moved), expected(40 + moved)}));
    found.clear();
    std::vector<float> twice = expected(40 + moved);
    for (float& one : twice) one += one;
    EXPECT_EQ(out.values(), twice);
  }
  other->outside_graph(look);
  EXPECT_EQ(found.size(), 1u) << "at once where nothing is captured";
}

TEST(Capture, WhatACallThrowsEndsTheLaunch) {
  const There out;
  bool fails = true;
  const auto captured = device().capture([&] {
    work(device(), 10, out);
    device().outside_graph([&] {
      if (fails) throw std::runtime_error("no more");
    });
    work(device(), 20, out);
  });
  EXPECT_THROW(captured->launch(0), std::runtime_error);
  EXPECT_EQ(out.values(), expected(10));
  fails = false;
  captured->launch(1);
  EXPECT_EQ(out.values(), expected(21));
}

// Memory that only a call between the graphs uses is nobody else's. It is large: of a real GPU
// others take some, too.
TEST(Capture, WhatACallHoldsStays) {
  constexpr std::int64_t kLarge = std::int64_t{256} << 20;
  const There out;
  const auto large = [] { return std::make_shared<GpuFloats>(*gpu().memory, kLarge / 4); };
  // Memory whose giving back the host has not seen counts as taken.
  const auto left = [&] {
    static_cast<void>(out.values());
    return gpu().memory->left().value();
  };
  auto captured = device().capture([&] {
    const auto held = large();
    work(device(), 10, *held);
    device().outside_graph([] {});
    work(device(), 20, out);
    device().outside_graph([held, to = static_cast<float*>(out)] {
      device().copy(kFloats * sizeof(float), *held, to);
    });
  });
  for (const std::uint64_t moved : {0U, 3U}) {
    captured->launch(moved);
    EXPECT_EQ(out.values(), expected(10 + moved));
  }
  const std::int64_t with = left();
  captured.reset();
  EXPECT_GT(left(), with + kLarge / 2);
  const auto fails = [&] {
    const auto held = large();
    work(device(), 10, *held);
    device().outside_graph([held] {});
    throw std::runtime_error("no more");
  };
  EXPECT_THROW(device().capture(fails), std::runtime_error);
  const std::int64_t after = left();
  EXPECT_THROW(device().capture(fails), std::runtime_error);
  const std::int64_t others = test::gpu::others_take_memory() ? kLarge / 2 : 0;
  EXPECT_LE(std::abs(left() - after), others) << "what it held is given back";
}

// The host waits for none of them.
TEST(Capture, ACallComesBetweenGraphs) {
  std::string did;
  struct Told {
    std::string& did;
    int number;
    void launch(std::uint64_t moved) {
      did += " launch " + std::to_string(number) + "+" + std::to_string(moved);
    }
  };
  cuda::Graphs<Told> graphs;
  for (int i = 0; i < 4; ++i) {
    graphs.add(std::make_unique<Told>(did, i));
    if (i < 3) graphs.add([&did] { did += " call"; });
  }
  graphs.launch(5);
  EXPECT_EQ(did, " launch 0+5 call launch 1+5 call launch 2+5 call launch 3+5");
}

// What a device keeps from call to call (the cuts of lanes) is there for calls that are not
// captured, too.
TEST(Capture, WhatDevicesKeepIsNotTheGraphs) {
  const LaneBlocks lanes{.samples_per_lane = 100, .lanes = {3, 2}};
  const There x, out;
  device().fill(kFloats, 2, x);
  const auto captured = device().capture([&] { device().lane_column_sums(lanes, 1, 2, x, out); });
  device().fill(kFloats, 0, out);
  device().lane_column_sums(lanes, 1, 2, x, out);
  std::vector<float> sums(kFloats, 0);
  for (int i = 0; i < 4; ++i) sums[static_cast<std::size_t>(i)] = i < 2 ? 600 : 400;
  EXPECT_EQ(out.values(), sums);
  device().fill(kFloats, 0, out);
  captured->launch(0);
  EXPECT_EQ(out.values(), sums);
}

TEST(Capture, AnErrorGivesItUp) {
  const There out;
  const auto fails = [&] {
    work(device(), 10, out);
    throw std::runtime_error("no more");
  };
  EXPECT_THROW(device().capture(fails), std::runtime_error);
  const auto asks = [&] {
    work(device(), 10, out);
    static_cast<void>(out.values());
  };
  EXPECT_THROW(device().capture(asks), Error);
  EXPECT_THROW(device().capture([&] { device().capture([] {}); }), Error);
  work(device(), 20, out);
  EXPECT_EQ(out.values(), expected(20));
}

// Of two captured ones, and when they are gone. So much that what CUDA takes for its graphs, and
// others of the GPU, is little beside it.
TEST(Capture, MemoryIsSharedAndGivenBack) {
  constexpr std::int64_t kLarge = std::int64_t{256} << 20;
  const There out;
  const auto left = [&] {
    static_cast<void>(out.values());  // all is done
    return gpu().memory->left().value();
  };
  const auto large_work = [&](std::uint64_t first) {
    gpu().memory->give_back(gpu().memory->take(kLarge));
    work(device(), first, out);
  };
  const std::int64_t before = left();
  auto first = device().capture([&] { large_work(10); });
  EXPECT_LT(left(), before - kLarge / 2);
  auto second = device().capture([&] { large_work(30); });
  EXPECT_GT(left(), before - kLarge * 3 / 2);
  for (const std::uint64_t moved : {1U, 2U}) {
    first->launch(moved);
    EXPECT_EQ(out.values(), expected(10 + moved));
    second->launch(moved);
    EXPECT_EQ(out.values(), expected(30 + moved));
  }
  first.reset();
  EXPECT_LT(left(), before - kLarge / 2) << "the second needs it";
  second->launch(0);
  EXPECT_EQ(out.values(), expected(30));
  second.reset();
  EXPECT_GT(left(), before - kLarge / 2);
}

// More of the host's bytes than one piece of pinned memory holds.
TEST(Capture, ReadsAsMuchOfTheHostAsItLikes) {
  constexpr int kPieces = 200;
  std::vector<std::unique_ptr<There>> there;
  for (int i = 0; i < kPieces; ++i) there.push_back(std::make_unique<There>());
  const auto captured = device().capture([&] {
    for (int i = 0; i < kPieces; ++i) {
      const std::vector<float> here(kFloats, static_cast<float>(i));
      device().from_host(kFloats * sizeof(float), here.data(), *there[static_cast<std::size_t>(i)]);
    }
  });
  captured->launch(0);
  for (int i = 0; i < kPieces; ++i)
    EXPECT_EQ(there[static_cast<std::size_t>(i)]->values(),
              std::vector<float>(kFloats, static_cast<float>(i)));
}

// It goes while its launch is still to come: what that reads stays until then.
TEST(Capture, MayGoBeforeItsLaunchIsDone) {
  for (int i = 0; i < 40; ++i) {
    const There out;
    auto captured = device().capture([&] { work(device(), 10, out); });
    captured->launch(2);
    captured.reset();
    auto other = device().capture([&] { work(device(), 50, out); });  // pinned memory of its own
    const There kept;
    device().copy(kFloats * sizeof(float), out, kept);
    other->launch(0);
    EXPECT_EQ(kept.values(), expected(12));
    EXPECT_EQ(out.values(), expected(50));
  }
}

// What is still held when the last graph goes is free when it is given back.
TEST(Capture, WhatOutlivesTheGraphsIsGivenBack) {
  constexpr std::int64_t kLarge = std::int64_t{256} << 20;
  const There out;
  const auto left = [&] {
    static_cast<void>(out.values());
    return gpu().memory->left().value();
  };
  void* kept = nullptr;
  auto captured = device().capture([&] {
    kept = gpu().memory->take(kLarge);
    work(device(), 10, out);
  });
  captured->launch(0);
  const std::int64_t with = left();
  captured.reset();
  gpu().memory->give_back(kept);
  EXPECT_GT(left(), with + kLarge / 2);
}

TEST(Capture, ACpuCapturesNothing) {
  Cpu cpu;
  EXPECT_EQ(cpu.capture([] { FAIL() << "it was called"; }), nullptr);
}

}  // namespace
}  // namespace lockstep::numerics
