#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cstring>
#include <limits>

#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/philox.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"
#include "lockstep/state/state.h"

namespace lockstep::state {
namespace {

constexpr std::int64_t kTileFloats = 4096;

// Tensors below, at and beyond a tile; a scalar.
State some_state() {
  State state{.tensors = {}, .step = Step(12), .samples = 345};
  std::uint32_t key = 0;
  for (const auto& [name, shape] :
       std::vector<std::pair<std::string, std::vector<std::int64_t>>>{{"model/param/a", {5}},
                                                                      {"model/param/b", {3, 4097}},
                                                                      {"model/buffer/c", {}},
                                                                      {"model/m/d", {4096}},
                                                                      {"model/ema/e", {2, 6}}}) {
    at::Tensor tensor = ops::empty(shape);
    ops::device().fill_normal({.key = {key++, 8}, .micro = 0}, 0, 1, tensor.numel(),
                              ops::write(tensor));
    state.tensors.push_back({name, tensor});
  }
  return state;
}

const State& original() {
  static const State state = some_state();
  return state;
}
const StateDigest& original_digest() {
  static const StateDigest known = digest(original());
  return known;
}

void expect_other(const State& changed, const std::string& what) {
  EXPECT_NE(digest(changed).root, original_digest().root) << what;
  EXPECT_NE(commit(changed), commit(original())) << what;
}

RC_GTEST_PROP(Digest, ChangesWithAnyBitAndLocatesIt, ()) {
  State changed = some_state();
  const auto i = *rc::gen::inRange<std::size_t>(0, changed.tensors.size());
  at::Tensor& tensor = changed.tensors[i].tensor;
  const auto element = *rc::gen::inRange<std::int64_t>(0, tensor.numel());
  std::uint32_t bits;
  std::memcpy(&bits, ops::write(tensor) + element, 4);
  bits ^= 1u << *rc::gen::inRange(0, 32);
  std::memcpy(ops::write(tensor) + element, &bits, 4);

  const StateDigest now = digest(changed);
  RC_ASSERT(now.root != original_digest().root);
  RC_ASSERT(commit(changed) != commit(original()));
  for (std::size_t k = 0; k < changed.tensors.size(); ++k)
    RC_ASSERT((now.tensors[k] == original_digest().tensors[k]) == (k != i));
  const auto where = first_difference(changed, original_digest().leaves, now.leaves);
  RC_ASSERT(where.has_value());
  RC_ASSERT(where->tensor == changed.tensors[i].name);
  RC_ASSERT(where->first == element / kTileFloats * kTileFloats);
  RC_ASSERT(where->last == std::min(where->first + kTileFloats, tensor.numel()));
}

TEST(Digest, ChangesWithTheCursorNamesShapesAndOrder) {
  State changed = some_state();
  changed.step = Step(13);
  expect_other(changed, "step");
  changed = some_state();
  changed.samples += 1;
  expect_other(changed, "samples");
  changed = some_state();
  std::swap(changed.step.value, changed.samples);
  expect_other(changed, "step and samples exchanged");
  changed = some_state();
  changed.tensors[3].name += "x";
  expect_other(changed, "name");
  changed = some_state();
  changed.tensors[4].tensor = changed.tensors[4].tensor.view({6, 2});
  expect_other(changed, "shape");
  changed.tensors[4].tensor = changed.tensors[4].tensor.view({12});
  expect_other(changed, "fewer dimensions");
  changed = some_state();
  std::swap(changed.tensors[0], changed.tensors[1]);
  expect_other(changed, "order");
  changed = some_state();
  changed.tensors.pop_back();
  expect_other(changed, "a tensor less");
}

TEST(Digest, IsTheSameForEveryThreadCount) {
  const hash::Digest bytes = commit(original());
  for (const int count : {1, 2, 7}) {
    numerics::Cpu cpu(count);
    const ops::DeviceScope here(cpu);
    const StateDigest now = digest(original());
    EXPECT_EQ(now.root, original_digest().root) << count;
    EXPECT_EQ(now.leaves, original_digest().leaves) << count;
    EXPECT_EQ(commit(original()), bytes) << count;
  }
}

TEST(Digest, TellsSignsOfZeroAndNansApart) {
  State a = some_state(), b = some_state();
  ops::write(a.tensors[0].tensor)[2] = 0.0F;
  ops::write(b.tensors[0].tensor)[2] = -0.0F;
  EXPECT_NE(digest(a).root, digest(b).root);
  ops::write(a.tensors[0].tensor)[2] = std::bit_cast<float>(0x7fc00000u);
  ops::write(b.tensors[0].tensor)[2] = std::bit_cast<float>(0x7fc00001u);
  EXPECT_NE(digest(a).root, digest(b).root);
}

TEST(FirstDifference, IsTheFirstAndNothingForEqualStates) {
  EXPECT_FALSE(first_difference(original(), original_digest().leaves, leaves(some_state())));
  State changed = some_state();
  ops::write(changed.tensors[4].tensor)[3] += 1;
  ops::write(changed.tensors[1].tensor)[12'290] += 1;
  ops::write(changed.tensors[1].tensor)[5000] += 1;
  const auto where = first_difference(changed, original_digest().leaves, leaves(changed));
  ASSERT_TRUE(where);
  EXPECT_EQ(where->tensor, "model/param/b");
  EXPECT_EQ(where->first, 4096);
  EXPECT_EQ(where->last, 8192);
}

RC_GTEST_PROP(FirstNonFinite, NamesTheTensorOfANanOrInfinityAnywhere, ()) {
  State state = some_state();
  const auto i = *rc::gen::inRange<std::size_t>(0, state.tensors.size());
  at::Tensor& tensor = state.tensors[i].tensor;
  using Limits = std::numeric_limits<float>;
  ops::write(tensor)[*rc::gen::inRange<std::int64_t>(0, tensor.numel())] =
      *rc::gen::element(Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity());
  RC_ASSERT(first_non_finite(state) == i);
}

TEST(FirstNonFinite, IsNothingForFiniteStates) {
  State state = some_state();
  EXPECT_FALSE(first_non_finite(state));
  ops::write(state.tensors[1].tensor)[7] = std::numeric_limits<float>::max();
  ops::write(state.tensors[1].tensor)[8] = std::numeric_limits<float>::denorm_min();
  EXPECT_FALSE(first_non_finite(state));
}

TEST(State, CountsItsBytes) {
  EXPECT_EQ(original().bytes(), 4 * (5 + 3 * 4097 + 1 + 4096 + 12));
}

}  // namespace
}  // namespace lockstep::state
