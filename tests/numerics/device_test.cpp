// What is a device's besides arithmetic: copies, hashes, another one like it; the device that
// computes nothing.
#include "lockstep/numerics/device.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>

#include "lockstep/core/error.h"
#include "lockstep/numerics/idle.h"
#include "numerics/device.h"
#include "numerics/with_isa.h"

namespace lockstep::numerics {
namespace {

Bytes random_bytes(std::size_t n) {
  std::mt19937_64 engine(*rc::gen::arbitrary<std::uint64_t>());
  Bytes bytes(n);
  for (std::byte& b : bytes) b = static_cast<std::byte>(engine());
  return bytes;
}

RC_GTEST_PROP(Cpu, CopiesEveryByteAndNoOther, ()) {
  const Bytes from = random_bytes(*rc::gen::inRange<std::size_t>(0, 5000));
  const auto copy = [&](void (Device::*way)(std::size_t, const void*, void*)) {
    Bytes to(from.size() + 1, std::byte{0x5a});
    (device().*way)(from.size(), from.data(), to.data());
    RC_ASSERT(std::equal(from.begin(), from.end(), to.begin()));
    RC_ASSERT(to.back() == std::byte{0x5a});
  };
  copy(&Device::to_host);
  copy(&Device::from_host);
  copy(&Device::copy);
}

TEST(Cpu, CopiesNothingFromAndToNowhere) {
  device().to_host(0, nullptr, nullptr);
  device().from_host(0, nullptr, nullptr);
  device().copy(0, nullptr, nullptr);
}

RC_GTEST_PROP(Cpu, HashesTilesAsLeaves, ()) {
  const Bytes memory = random_bytes(3 * hash::kTileBytes);
  std::vector<ByteView> tiles;
  std::vector<hash::Leaf> expected;
  const auto count = *rc::gen::inRange<std::size_t>(0, 70);
  for (std::size_t i = 0; i < count; ++i) {
    const auto first = *rc::gen::inRange<std::size_t>(0, 2 * hash::kTileBytes);
    const auto bytes = *rc::gen::element<std::size_t>(
        0, 1, 4, 1000, hash::kTileBytes, *rc::gen::inRange<std::size_t>(0, hash::kTileBytes + 1));
    tiles.push_back(ByteView(memory).subspan(first, bytes));
    expected.push_back(hash::leaf_hash(tiles.back()));
  }
  with_every_isa([&] {
    for (const int threads : {1, 2, 7}) {
      use_threads(threads);
      std::vector<hash::Leaf> leaves(count);
      device().leaf_hashes(tiles, leaves.data());
      use_threads(1);
      RC_ASSERT(leaves == expected);
    }
  });
}

TEST(Cpu, AnotherHasItsInstructionSetAndAsManyThreadsAsAsked) {
  with_every_isa([] {
    const Cpu three(3, cpu().isa());
    for (const int threads : {1, 2}) {
      const std::unique_ptr<Device> other = three.clone(threads);
      EXPECT_EQ(other->host().isa(), three.isa());
      EXPECT_EQ(other->host().threads(), threads);
      EXPECT_EQ(static_cast<Device*>(&other->host()), other.get());
    }
  });
}

// Two devices compute at once: from inside a piece of one, which may not call its own.
TEST(Cpu, AnotherComputesBesideTheFirst) {
  use_threads(3);
  const std::vector<float> x(70000, 2);
  std::vector<float> squares(x.size());
  const std::unique_ptr<Device> other = cpu().clone(2);
  cpu().parallel_for(3, 1, [&](std::int64_t begin, std::int64_t) {
    if (begin != 0) return;
    other->unary(Unary::kSquare, static_cast<std::int64_t>(x.size()), x.data(), squares.data());
  });
  use_threads(1);
  EXPECT_EQ(first_difference(squares, std::vector<float>(x.size(), 4)), -1);
}

// Every kernel gets the same memory to read and to write; not a byte of it changes.
TEST(Idle, WritesNothing) {
  Idle idle;
  std::vector<float> out(64, 7);
  const std::vector<float> in(64, 3);
  const std::vector<float> before = out;
  float* const o = out.data();
  const float* const x = in.data();
  const float* const rows[] = {x, x};
  const LaneBlocks lanes = {.samples_per_lane = 1, .lanes = {1}};
  const Subtree node{0, 1};
  const GroupNormShape norm{.n = 1, .spatial = 2, .c = 2, .groups = 1};
  const ConvShape conv{.n = 1, .h = 2, .w = 2, .in = 1, .out = 1};
  std::vector<std::uint8_t> bytes(64, 7);
  std::vector<std::uint32_t> words(64, 7);
  hash::Leaf leaf{7, 7};
  const ByteView tile = std::as_bytes(std::span(in));

  idle.to_host(64, x, o);
  idle.from_host(64, x, o);
  idle.copy(64, x, o);
  idle.leaf_hashes({&tile, 1}, &leaf);
  idle.parallel_for(2, 1, [](std::int64_t, std::int64_t) { FAIL() << "a piece was computed"; });
  idle.unary(Unary::kExp, 2, x, o);
  idle.unary_backward(Unary::kExp, 2, x, x, o);
  idle.leaky_relu(2, 1, x, o);
  idle.leaky_relu_backward(2, 1, x, x, o);
  idle.binary(Binary::kAdd, 2, x, x, o);
  idle.scale(2, 2, x, o);
  idle.scale_add(2, 2, x, x, o);
  idle.combine(2, 2, x, 2, x, o);
  idle.combine_rows(2, 2, x, x, x, x, o);
  idle.scale_rows(2, 2, x, x, o);
  idle.add_outer(2, 2, x, x, x, o);
  idle.fill(2, 1, o);
  idle.repeat(2, 2, 2, x, o);
  idle.time_embedding(2, 2, x, o);
  idle.clamp(2, 0, 1, x, o);
  idle.from_bytes(2, bytes.data(), o);
  idle.to_bytes(2, x, bytes.data());
  idle.gemm(1, 2, 2, 2, {x, 2, 1}, {x, 2, 1}, nullptr, {o, 2});
  idle.linear(1, 2, 2, x, x, nullptr, o);
  idle.linear_weight_grad(lanes, 1, 2, 2, x, x, o);
  idle.conv2d(conv, x, x, x, o);
  idle.conv2d_input_grad(conv, x, x, x, o);
  idle.conv2d_weight_grad(conv, lanes, x, x, o);
  std::vector<std::int16_t> integers(64, 7);
  std::vector<std::int32_t> exponents(64, 7);
  const Rounded rounded{integers.data(), exponents.data()};
  idle.round_groups(1, 1, 2, x, integers.data(), exponents.data());
  idle.plain_integers(1, 2, rounded.q, integers.data());
  idle.integer_conv2d(conv, rounded, rounded, x, o);
  idle.integer_conv2d_input_grad(conv, rounded, rounded, x, o);
  idle.integer_conv2d_weight_grad(conv, lanes, rounded, rounded, o);
  idle.row_sums(2, 2, x, o);
  idle.row_dots(2, 2, x, x, o);
  idle.row_squared_distances(2, 2, x, x, o);
  idle.spatial_sums(1, 2, 2, x, o);
  idle.lane_column_sums(lanes, 1, 2, x, o);
  idle.tile_squares({}, o);
  idle.clip_all(2, 0, o, {});
  idle.clamp_all(-1, 1, {});
  idle.tree_sum(rows, 2, 2, o);
  idle.tree_sum_nodes(1, {&node, 1}, rows, 2, o);
  const SealedRow sealed{x, nullptr};
  const SealedTile sum{o, 2, &leaf};
  idle.sum_sealed(1, {&node, 1}, {&sealed, 1}, {&sum, 1}, o);
  idle.group_norm(norm, x, x, x, o, o, o);
  idle.group_norm_backward(norm, lanes, x, x, x, x, x, x, o, o, o);
  idle.layer_norm(2, 2, 1, x, {x, x}, o, o, o);
  idle.layer_norm_backward(1, 2, lanes, 1, x, {x}, x, x, x, o, o, o);
  idle.lane_moments(lanes, 2, 2, x, o, o);
  idle.merge_moments(1, 2, 2, x, o, o);
  idle.batch_norm_apply(2, 2, x, x, x, x, x, o);
  idle.batch_norm_backward_sums(lanes, 2, 2, x, x, x, x, o, o);
  idle.batch_norm_backward_apply(2, 2, 2, x, x, x, x, x, x, x, o);
  idle.softmax(2, 2, 1, x, o);
  idle.softmax_backward(2, 2, 1, x, x, o);
  idle.upsample_nearest(1, 1, 1, 2, 2, 2, x, o);
  idle.upsample_nearest_backward(1, 1, 1, 2, 2, 2, x, o);
  const Updated updated{.values = o, .before = &leaf, .after = &leaf};
  const UpdatedTensor tensor{
      .n = 2, .g = x, .p = updated, .slots = {updated}, .averages = {{updated, 1}}};
  idle.update(Sgd{}, {&tensor, 1});
  idle.fill_bits({}, 0, 2, words.data());
  idle.fill_uniform({}, 0, 2, o);
  idle.fill_normal({}, 0, 2, 2, o);
  idle.fill_mask({}, 0, 2, 2, 0.5f, 2, o);

  EXPECT_EQ(out, before);
  EXPECT_EQ(bytes, std::vector<std::uint8_t>(64, 7));
  EXPECT_EQ(words, std::vector<std::uint32_t>(64, 7));
  EXPECT_EQ(leaf, (hash::Leaf{7, 7}));
}

TEST(Idle, FindsAllFiniteAndHasAnotherIdleOne) {
  Idle idle;
  const std::vector<float> bad = {std::numeric_limits<float>::infinity()};
  EXPECT_EQ(idle.first_non_finite(std::vector<std::span<const float>>{bad, bad}), 2U);
  float out = 7;
  idle.clone(3)->fill(1, 1, &out);
  EXPECT_EQ(out, 7.0f);
  EXPECT_EQ(idle.host().threads(), 1);
}

// A walk through a step must see the error that the step would end with.
TEST(Idle, RefusesMoreElementsThanADrawHas) {
  constexpr std::int64_t kMost = std::int64_t{1} << 34;
  Idle idle;
  const auto refused = [](const auto& draw) {
    try {
      draw(kMost + 1);
      return false;
    } catch (const Error& error) {
      return error.code() == Code::kUsage;
    }
  };
  const std::vector<Device*> devices = {&idle, &cpu()};
  for (Device* const device : devices) {
    EXPECT_TRUE(refused([&](std::int64_t n) { device->fill_bits({}, 0, n, nullptr); }));
    EXPECT_TRUE(refused([&](std::int64_t n) { device->fill_uniform({}, 0, n, nullptr); }));
    EXPECT_TRUE(refused([&](std::int64_t n) { device->fill_normal({}, 0, 1, n, nullptr); }));
    EXPECT_TRUE(refused([&](std::int64_t n) { device->fill_mask({}, 0, 1, n, 0, 1, nullptr); }));
  }
  idle.fill_bits({}, 0, kMost, nullptr);
  idle.fill_uniform({}, 0, kMost, nullptr);
  idle.fill_normal({}, 0, 1, kMost, nullptr);
  idle.fill_mask({}, 0, 1, kMost, 0, 1, nullptr);
}

}  // namespace
}  // namespace lockstep::numerics
