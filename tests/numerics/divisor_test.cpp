#include "numerics/cuda/divisor.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace lockstep::numerics::cuda {
namespace {

constexpr int kShort = 31, kLong = 62;  // bits that are divided by two ways

// Numbers of any size, and those beside powers of two.
rc::Gen<std::int64_t> numbers(std::int64_t from, int bits) {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange(0, bits), rc::gen::arbitrary<std::uint64_t>(),
                     rc::gen::inRange<std::int64_t>(-2, 3)),
      [=](const std::tuple<int, std::uint64_t, std::int64_t>& drawn) {
        const auto [size, any, beside] = drawn;
        const std::int64_t power = std::int64_t{1} << size, most = (std::int64_t{1} << bits) - 1;
        const std::int64_t number =
            any % 2 == 0 ? power + beside : static_cast<std::int64_t>(any / 2) % power;
        return std::min(std::max(number, from), most);
      });
}

RC_GTEST_PROP(Divisor, GivesQuotientAndRemainder, ()) {
  for (const int bits : {kShort, kLong}) {
    const std::int64_t d = *numbers(1, bits), any = *numbers(0, bits),
                       most = (std::int64_t{1} << bits) - 1;
    const Divisor by(d, most);
    for (const std::int64_t n : {any, any / d * d, any / d * d + (d - 1), most, most / d * d - 1}) {
      if (n < 0 || n > most) continue;
      RC_ASSERT(by.quotient(n) == n / d);
      RC_ASSERT(by.remainder(n) == n % d);
    }
  }
}

}  // namespace
}  // namespace lockstep::numerics::cuda
