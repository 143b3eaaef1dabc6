// A kernel's arguments are the bytes of its object. On a GPU an address of the host among them ends
// the context; a grid that the host emulates would read there, so this looks for it.
#pragma once

#include <cstddef>

namespace lockstep::test::gpu {

// Whether a GPU reaches this address of the host.
using Reaches = bool (*)(const void* address);

// Of a GPU whose memory is the host's (make_gpu); null, the default: it reaches all.
inline Reaches near_gpu_reaches = nullptr;

// Ends the program if a word of these bytes is an address that the host can read and the GPU does
// not reach. What an argument points to is not looked at.
void check_arguments(const void* bytes, std::size_t count, Reaches reaches);

template <class Kernel>
void check_arguments(const Kernel& kernel, Reaches reaches) {
  Kernel copy = kernel;
#if __has_builtin(__builtin_clear_padding)  // what lay there before may look like an address
  __builtin_clear_padding(&copy);
#endif
  check_arguments(&copy, sizeof copy, reaches);
}

}  // namespace lockstep::test::gpu
