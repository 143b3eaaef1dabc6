// Private: neighbours in memory that one instruction loads or stores.
#pragma once

namespace lockstep::numerics::cuda {

// Aligned to its size, and allowed to lie over an array of another type.
template <class T, int kCount>
struct [[gnu::may_alias]] alignas(sizeof(T) * kCount) Vector {
  T of[kCount];
};

}  // namespace lockstep::numerics::cuda
