#include "inject/injector.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <optional>

#include "lockstep/comm/group.h"
#include "lockstep/core/error.h"

namespace lockstep::inject {
namespace {

constexpr std::uint64_t kWarpSize = 32;

// SplitMix64 (Steele et al. 2014).
std::uint64_t next(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t x = state;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

void flip_bit(float& value, std::uint64_t bit) {
  value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1U << bit % 32);
}

std::mutex mutex;  // all below
std::optional<Fault> armed;
std::uint64_t wanted = 0;
Struck struck;
std::map<std::int64_t, std::int64_t> step_of;                    // by rank
std::map<std::pair<Place, std::int64_t>, std::uint64_t> passed;  // of the step so far

}  // namespace

void flip(Pattern pattern, std::uint64_t bits, float* floats, std::int64_t count) {
  const auto n = static_cast<std::uint64_t>(count);
  std::uint64_t state = bits;
  if (pattern == Pattern::kWarp) {
    const std::uint64_t first = next(state) % n / kWarpSize * kWarpSize, bit = next(state);
    for (std::uint64_t i = first; i < std::min(first + kWarpSize, n); ++i) flip_bit(floats[i], bit);
    return;
  }
  const std::uint64_t flips = pattern == Pattern::kOneBit ? 1 : 2 + next(state) % 4;
  const std::uint64_t element = next(state), bit = next(state);
  // Different bits, so that no two undo each other.
  for (std::uint64_t i = 0; i < flips; ++i) flip_bit(floats[(element + i / 2) % n], bit + 7 * i);
}

void arm(const Fault& fault, std::uint64_t arrays) {
  const std::scoped_lock lock(mutex);
  armed = fault;
  wanted = fault.choice % arrays;
  struck = {};
  step_of.clear();
  passed.clear();
}

Struck disarm() {
  const std::scoped_lock lock(mutex);
  armed.reset();
  return struck;
}

void begin_step(std::int64_t rank, std::int64_t step) {
  const std::scoped_lock lock(mutex);
  step_of[rank] = step;
  std::erase_if(passed, [&](const auto& one) { return one.first.second == rank; });
}

std::uint64_t counted(Place place, std::int64_t rank) {
  const std::scoped_lock lock(mutex);
  return passed[{place, rank}];
}

void inject_fault(Place place, const comm::Group& group, float* floats, std::int64_t count) {
  if (count == 0) return;
  const std::scoped_lock lock(mutex);
  const std::int64_t rank = group.rank().value;
  const std::uint64_t number = passed[{place, rank}]++;
  if (!armed || armed->place != place || armed->rank != rank || step_of[rank] != armed->step ||
      number != wanted || struck.happened)
    return;
  struck = {true, number};
  if (armed->pattern == Pattern::kError) throw Error(Code::kEnvironment, "the device is lost");
  flip(armed->pattern, armed->bits, floats, count);
}

}  // namespace lockstep::inject
