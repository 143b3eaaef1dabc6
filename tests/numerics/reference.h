// What the tests of sums and norms share: random values, and sums written a second time from the
// headers' text.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "lockstep/numerics/isa.h"
#include "lockstep/numerics/spec/shapes.h"
#include "lockstep/numerics/tree.h"
#include "numerics/device.h"

namespace lockstep::numerics {

using Floats = std::vector<float>;

// Finite values of many magnitudes, with zeros of both signs and subnormals among them.
inline Floats random_floats(std::int64_t n) {
  std::mt19937_64 engine(*rc::gen::arbitrary<std::uint64_t>());
  Floats values(static_cast<std::size_t>(n));
  for (float& v : values) {
    const auto bits = static_cast<std::uint32_t>(engine());
    const std::uint32_t sign = bits & 0x80000000u, fraction = bits & 0x007fffffu;
    const std::uint32_t kind = bits >> 23 & 31u;
    const std::uint32_t exponent = kind < 2 ? 0 : 112 + kind / 2;  // 2^-15 … 2^0
    v = std::bit_cast<float>(sign | (kind == 0 ? 0 : exponent << 23 | fraction));
  }
  return values;
}

inline std::vector<std::uint32_t> bits(const Floats& values) {
  std::vector<std::uint32_t> out;
  for (const float v : values) out.push_back(std::bit_cast<std::uint32_t>(v));
  return out;
}

// `where` computed these bits.
inline void expect_bits(const Floats& result, const Floats& expected, const std::string& where) {
  RC_ASSERT(result.size() == expected.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(result[i]) == std::bit_cast<std::uint32_t>(expected[i]))
      continue;
    RC_FAIL(where + ": element " + std::to_string(i) + " of " + std::to_string(result.size()) +
            " is " + std::to_string(result[i]) + ", expected " + std::to_string(expected[i]));
  }
}

// run() gives the same bits as `expected` with every implementation, on 1, 2 or 7 threads (drawn:
// over a property's cases every pair comes up), and on the emulated GPU.
template <class Run>
void expect_everywhere(const Floats& expected, const Run& run) {
  for (const Isa isa : usable_isas()) {
    const int count = *rc::gen::element(1, 2, 7);
    use_isa(isa);
    use_threads(count);
    const Floats result = run();
    use_threads(1);
    use_isa(best_isa());
    expect_bits(result, expected,
                std::string(name(isa)) + ", " + std::to_string(count) + " threads");
  }
  const OnGpu gpu;
  expect_bits(run(), expected, "emulated GPU");
}

inline Floats joined(std::initializer_list<Floats> parts) {
  Floats all;
  for (const Floats& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// The blocked chain, a second time: block sums first, then their sum.
template <class Fold>
float chain(std::int64_t n, const Fold& fold) {
  Floats blocks;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i % 512 == 0) blocks.push_back(0.0f);
    blocks.back() = fold(blocks.back(), i);
  }
  if (blocks.empty()) return 0.0f;
  float sum = blocks[0];
  for (std::size_t b = 1; b < blocks.size(); ++b) sum = sum + blocks[b];
  return sum;
}

// The tree, a second time: value(i) for lane i.
template <class Value>
float tree(std::int64_t first, std::int64_t count, const Value& value) {
  if (count == 1) return value(first);
  std::int64_t left = 1;
  while (2 * left < count) left *= 2;
  const float a = tree(first, left, value);
  return a + tree(first + left, count - left, value);
}

// out[p][j] = tree over partial p's lanes of value(lane, j).
template <class Value>
Floats tree_of_lanes(const LaneBlocks& lanes, std::int64_t width, const Value& value) {
  Floats out;
  std::int64_t first = 0;
  for (const std::int64_t count : lanes.lanes) {
    for (std::int64_t j = 0; j < width; ++j) {
      out.push_back(tree(first, count, [&](std::int64_t lane) { return value(lane, j); }));
    }
    first += count;
  }
  return out;
}

// Uniform: RapidCheck's inRange alone stays near `low` in a property's first cases.
inline std::int64_t between(std::int64_t low, std::int64_t high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(low, high + 1));
}

// Mostly small; sometimes around the length of a block or two.
inline std::int64_t random_length() {
  if (between(0, 3) > 0) return between(1, 40);
  return *rc::gen::element<std::int64_t>(511, 512, 513, 784, 1023, 1025, 1111, 2049, 4700);
}

// A rank's block of a run's lanes.
inline LaneBlocks random_lanes() {
  const std::int64_t total = between(1, 9), first = between(0, total - 1);
  LaneBlocks lanes{between(1, 3), {}};
  for (const Subtree& node : maximal_subtrees(total, first, between(1, total - first))) {
    lanes.lanes.push_back(node.count);
  }
  return lanes;
}

// A number of rows of `row` numbers: random_length, but one row or no more than `most` numbers.
inline std::int64_t random_rows(std::int64_t row, std::int64_t most = 50'000) {
  return std::min(random_length(), std::max<std::int64_t>(1, most / row));
}

// Of all samples of `lanes`; a group has `least` channels or more.
inline GroupNormShape random_group_norm(const LaneBlocks& lanes, std::int64_t least) {
  GroupNormShape s;
  s.n = lanes.samples();
  s.groups = between(1, 6);
  s.c = s.groups * between(least, 70 / s.groups);
  s.spatial = random_rows(s.n * s.c);
  s.activation = *rc::gen::element(Activation::kNone, Activation::kSilu);
  return s;
}

// `run(lanes, first sample)` -> [partials][width]. Any split of the lanes into ranks must compose
// to the result of one rank.
template <class Run>
void expect_same_at_every_world_size(std::int64_t samples_per_lane, std::int64_t total,
                                     std::int64_t width, const Run& run) {
  const Floats whole = run(LaneBlocks{samples_per_lane, {total}}, 0);
  std::vector<Subtree> nodes;
  Floats partials;
  for (std::int64_t first = 0; first < total;) {
    const std::int64_t count = between(1, total - first);
    LaneBlocks lanes{samples_per_lane, {}};
    for (const Subtree& node : maximal_subtrees(total, first, count)) {
      nodes.push_back(node);
      lanes.lanes.push_back(node.count);
    }
    const Floats part = run(lanes, first * samples_per_lane);
    partials.insert(partials.end(), part.begin(), part.end());
    first += count;
  }
  std::vector<const float*> rows;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    rows.push_back(partials.data() + static_cast<std::int64_t>(i) * width);
  }
  Floats composed(static_cast<std::size_t>(width));
  device().tree_sum_nodes(total, nodes, rows.data(), width, composed.data());
  RC_ASSERT(bits(composed) == bits(whole));
}

}  // namespace lockstep::numerics
