// Strong integers: a lane is not a rank, and a sample is not a step.
#pragma once

#include <compare>
#include <cstdint>

namespace lockstep {

template <class Tag>
struct Id {
  std::int64_t value = 0;

  constexpr Id() = default;
  constexpr explicit Id(std::int64_t v) : value(v) {}
  constexpr auto operator<=>(const Id&) const = default;
  constexpr Id operator+(std::int64_t n) const { return Id(value + n); }
  constexpr std::int64_t operator-(Id other) const { return value - other.value; }
  constexpr Id& operator++() {
    ++value;
    return *this;
  }
};

using Step = Id<struct StepTag>;      // completed updates; the state before any training is step 0
using Lane = Id<struct LaneTag>;      // slice of the global batch, 0 .. lanes-1
using Rank = Id<struct RankTag>;      // process (or thread standing in for one), 0 .. world-1
using Sample = Id<struct SampleTag>;  // index into a data set
using Draw =
    Id<struct DrawTag>;  // position in the global sample stream: step * batch + position in batch

// Whether what happens every so many steps, 0: never, happens at this one.
constexpr bool due(Step step, std::int64_t every) {
  return every > 0 && step.value % every == 0;
}

}  // namespace lockstep
