#include "support/gpu/arguments.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lockstep::test::gpu {
namespace {

bool is_mapped(std::uintptr_t address) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  constexpr std::uintptr_t kFirst = 1 << 16, kEnd = std::uintptr_t{1} << 47;
  if (address < kFirst || address >= kEnd) return false;
  void* const start = reinterpret_cast<void*>(address / page * page);
  return msync(start, page, MS_ASYNC) == 0 || errno != ENOMEM;
}

}  // namespace

void check_arguments(const void* bytes, std::size_t count, Reaches reaches) {
  for (std::size_t i = 0; i + sizeof(void*) <= count; i += sizeof(void*)) {
    void* address = nullptr;
    std::memcpy(&address, static_cast<const char*>(bytes) + i, sizeof address);
    if (address == nullptr || reaches(address)) continue;
    if (!is_mapped(reinterpret_cast<std::uintptr_t>(address))) continue;
    std::fprintf(stderr,
                 "emulated GPU: byte %zu of a kernel's arguments is an address of the host\n", i);
    std::abort();
  }
}

}  // namespace lockstep::test::gpu
