// Linked into a program, this fills all fresh memory with NaNs, other ones for every allocation:
// who reads what nobody wrote gets other bits than the golden ones. Memory that the kernel hands
// out is zero, which would hide it.
#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" {

// glibc's own, under the names that stay when the usual ones are taken.
void* __libc_malloc(std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
std::size_t malloc_usable_size(void* memory) noexcept;
}

namespace {

// Where addresses are limited, large tensors come from malloc, too.
[[gnu::constructor]] void limit_addresses() {
  const rlimit many{.rlim_cur = rlim_t{1} << 46, .rlim_max = RLIM_INFINITY};
  ::setrlimit(RLIMIT_AS, &many);
}

void* filled(void* memory, std::size_t begin = 0) {
  static std::atomic<std::uint32_t> allocations{0};
  if (!memory) return memory;
  const std::uint32_t word = 0x7fa00001u + (++allocations & 0xfffffu);  // a signalling NaN
  const std::size_t size = malloc_usable_size(memory);
  char* bytes = static_cast<char*>(memory);
  for (std::size_t at = (begin + 3) / 4 * 4; at + 4 <= size; at += 4)
    std::memcpy(bytes + at, &word, 4);
  return memory;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void* malloc(std::size_t size) {
  return filled(__libc_malloc(size));
}
void* memalign(std::size_t alignment, std::size_t size) {
  return filled(__libc_memalign(alignment, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return filled(__libc_memalign(alignment, size));
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  *memory = filled(__libc_memalign(alignment, size));
  return *memory ? 0 : ENOMEM;
}
void* realloc(void* old, std::size_t size) {
  const std::size_t kept = old ? malloc_usable_size(old) : 0;
  void* memory = __libc_realloc(old, size);
  return memory && malloc_usable_size(memory) > kept ? filled(memory, kept) : memory;
}

}  // extern "C"
#pragma GCC visibility pop
