// Private: many numbers divided by one, for CUDA: a GPU divides integers by some 20 instructions,
// and multiplies by one.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/host_device.h"

namespace lockstep::numerics::cuda {

// Divides numbers from 0 to `most`, below 2^62.
//
// Of N bits, with 2^(s-1) < d <= 2^s and m = floor(2^(N+s) / d) + 1, n / d is n m / 2^(N+s),
// rounded down: m d exceeds 2^(N+s) by at most 2^s (Granlund and Montgomery, Division by Invariant
// Integers using Multiplication, 1994, theorem 4.2).
class Divisor {
 public:
  Divisor(std::int64_t d, std::int64_t most) : d_(d < 1 ? 1 : d) {
    int s = 0;
    while ((std::int64_t{1} << s) < d_) ++s;
    short_ = s <= kShort && most < std::int64_t{1} << kShort;
    const int bits = short_ ? kShort : kLong;
    factor_ = static_cast<std::uint64_t>((Wide{1} << (bits + s)) / static_cast<Wide>(d_) + 1);
    shift_ = short_ ? kShort + s : s;
  }

  LOCKSTEP_HD std::int64_t value() const { return d_; }
  LOCKSTEP_HD std::int64_t quotient(std::int64_t n) const {
    const auto unsigned_n = static_cast<std::uint64_t>(n);
    const std::uint64_t product =
        short_ ? std::uint64_t{static_cast<std::uint32_t>(n)} * static_cast<std::uint32_t>(factor_)
               : high(unsigned_n << (64 - kLong), factor_);
    return static_cast<std::int64_t>(product >> shift_);
  }
  LOCKSTEP_HD std::int64_t remainder(std::int64_t n) const { return n - quotient(n) * d_; }

 private:
  __extension__ typedef unsigned __int128 Wide;  // nvcc takes no `using` there
  static constexpr int kShort = 31, kLong = 62;  // bits of a number

  // The upper 64 bits of a product.
  LOCKSTEP_HD static std::uint64_t high(std::uint64_t a, std::uint64_t b) {
#if defined(__CUDA_ARCH__)
    return __umul64hi(a, b);
#else
    return static_cast<std::uint64_t>(static_cast<Wide>(a) * b >> 64);
#endif
  }

  std::int64_t d_;
  std::uint64_t factor_;
  int shift_;
  bool short_;
};

}  // namespace lockstep::numerics::cuda
