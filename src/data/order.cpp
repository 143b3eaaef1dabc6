#include "lockstep/data/order.h"

#include <bit>

#include "lockstep/core/error.h"

namespace lockstep::data {
namespace {

constexpr std::uint32_t kRounds = 8;

// One pass of the Feistel network over [0, 2^(low + high)).
std::uint64_t feistel(numerics::PhiloxKey key, std::uint64_t epoch, int low, int high,
                      std::uint64_t x) {
  const auto epoch_low = static_cast<std::uint32_t>(epoch);
  const auto epoch_high = static_cast<std::uint32_t>(epoch >> 32);
  const auto low_mask = static_cast<std::uint32_t>((std::uint64_t{1} << low) - 1);
  const auto high_mask = static_cast<std::uint32_t>((std::uint64_t{1} << high) - 1);
  auto l = static_cast<std::uint32_t>(x) & low_mask;
  auto h = static_cast<std::uint32_t>(x >> low) & high_mask;
  for (std::uint32_t r = 0; r < kRounds; ++r) {
    const std::uint32_t from = r % 2 == 0 ? l : h;
    const std::uint32_t word = numerics::philox(key, {from, epoch_low, epoch_high, r})[0];
    if (r % 2 == 0) {
      h ^= word & high_mask;
    } else {
      l ^= word & low_mask;
    }
  }
  return (std::uint64_t{h} << low) | l;
}

}  // namespace

std::int64_t permute(numerics::PhiloxKey key, std::uint64_t epoch, std::int64_t n,
                     std::int64_t index) {
  LOCKSTEP_ASSERT(n >= 1 && n <= (std::int64_t{1} << 62), "n = " + std::to_string(n));
  LOCKSTEP_ASSERT(index >= 0 && index < n, "index = " + std::to_string(index));
  if (n == 1) return 0;
  const auto size = static_cast<std::uint64_t>(n);
  const int bits = std::max(2, static_cast<int>(std::bit_width(size - 1)));
  const int low = (bits + 1) / 2;
  auto x = static_cast<std::uint64_t>(index);
  do {
    x = feistel(key, epoch, low, bits - low, x);
  } while (x >= size);
  return static_cast<std::int64_t>(x);
}

Holdout::Holdout(const numerics::Stream& stream, std::int64_t n, std::int64_t count)
    : key_(stream.key), n_(n), count_(count) {
  LOCKSTEP_ASSERT(0 <= count && count < n, std::to_string(count) + " of " + std::to_string(n));
}

Sample Holdout::held_out(std::int64_t i) const {
  LOCKSTEP_ASSERT(0 <= i && i < count_, std::to_string(i));
  return Sample(permute(key_, 0, n_, i));
}

Sample Holdout::trained(std::int64_t i) const {
  return Sample(count_ == 0 ? i : permute(key_, 0, n_, count_ + i));
}

Order::Order(const numerics::Stream& stream, std::int64_t n)
    : Order(stream, Holdout(stream, n, 0)) {}

Order::Order(const numerics::Stream& stream, const Holdout& holdout)
    : key_(stream.key), n_(holdout.trained()), holdout_(holdout) {}

Sample Order::sample_at(Draw draw) const {
  LOCKSTEP_ASSERT(draw.value >= 0, "draw = " + std::to_string(draw.value));
  const auto epoch = static_cast<std::uint64_t>(draw.value / n_);
  return holdout_.trained(permute(key_, epoch, n_, draw.value % n_));
}

}  // namespace lockstep::data
