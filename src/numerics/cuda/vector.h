// Private: neighbours in memory that one instruction loads or stores.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace lockstep::numerics::cuda {

// Aligned to its size, and allowed to lie over an array of another type.
template <class T, int kCount>
struct [[gnu::may_alias]] alignas(sizeof(T) * kCount) Vector {
  T of[kCount];
};

// Whether floats can be loaded and stored in fours, here and wherever these steps lead.
inline bool in_fours(const float* data, std::initializer_list<std::int64_t> steps) {
  bool all = reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
  for (const std::int64_t step : steps) all = all && step % 4 == 0;
  return all;
}

}  // namespace lockstep::numerics::cuda
