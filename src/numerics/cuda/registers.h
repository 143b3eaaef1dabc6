// Private: what keeps a thread's values in registers.
//
//   LOCKSTEP_UNROLL before a loop   arrays that it indexes can be registers
//   Vector<T, n>                    n neighbours in memory, loaded or stored by one instruction
#pragma once

#if defined(__CUDACC__)
#define LOCKSTEP_UNROLL _Pragma("unroll")
#else
#define LOCKSTEP_UNROLL
#endif

namespace lockstep::numerics::cuda {

// Aligned to its size, and allowed to lie over an array of another type.
template <class T, int kCount>
struct [[gnu::may_alias]] alignas(sizeof(T) * kCount) Vector {
  T of[kCount];
};

}  // namespace lockstep::numerics::cuda
