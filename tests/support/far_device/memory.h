// Device memory that the host cannot read, without a device: one file in memory, mapped twice.
//
// Tensors hold *far* addresses, of a mapping without any access. Kernels and named copies add the
// distance to the *near* mapping of the same pages. So no thread of the host can slip through while
// a kernel runs, unless that kernel itself needs far addresses (Kernel).
//
// What the host does with a far address: a load or store ends the process (fault.h); a system call
// fails with EFAULT. A child of fork() has the far mapping and not the near one, as with a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace lockstep::testing::far {

// Address space; pages take memory from their first use on, and keep it.
inline constexpr std::size_t kMemoryBytes = std::size_t{4} << 30;
inline constexpr std::size_t kAlignment = 256;

// Returns a far address, aligned to kAlignment; the bytes are 0xff (as floats: NaN), because fresh
// device memory is not zero either. Null for 0 bytes, and when no stretch is free that is long
// enough. Thread-safe.
void* allocate(std::size_t bytes);
// The same, but the bytes stay as they are: work that is still to come may need them.
void* take(std::size_t bytes);
// The same, from a place that `next` gives as it is: asked of any place, it gives that or one
// behind it, aligned to kAlignment.
void* take(std::size_t bytes, const std::function<const void*(const void*)>& next);
// Null is allowed. Error(kBug) if allocate() did not return it, or it was released before.
void release(void* far);
// What these gave out and release() did not take back, in bytes, rounded up to kAlignment.
std::size_t bytes_in_use();
// The most that were in use at a time, since the last call.
std::size_t most_in_use();

bool is_far(const void* address);

// The near address of a far one; null stays null. Error(kBug) if it is not far: host memory where
// a kernel expects the device's. The end of the mapping, which is the end of a range, is allowed.
std::uintptr_t near_address(const void* far);
template <class T>
T* near(T* far) {
  return reinterpret_cast<T*>(near_address(far));
}

// While it lives, far addresses can be read and written: a kernel runs. One at a time.
class Kernel {
 public:
  Kernel();
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
};

// What the line of a fault says of an address: its byte in the memory, and the allocation it is in.
struct Place {
  std::size_t byte;  // from the start of far memory
  struct Allocation {
    std::size_t byte;   // from its start
    std::size_t bytes;  // rounded up to kAlignment
  };
  std::optional<Allocation> allocation;  // none: in no allocation, or another thread changes them
};
// For a signal handler: neither waits nor allocates. `far` is far.
Place place_of(const void* far);

}  // namespace lockstep::testing::far
