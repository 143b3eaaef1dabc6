// For programs on the emulated GPU: it reaches the pages of pinned.cpp and no other memory of the
// host, as real_gpu.cpp's does. So what a test would give a real GPU in vain is found without one.
#include <sys/mman.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "gpu_programs/pinned.h"
#include "support/gpu/arguments.h"
#include "support/gpu/reachable.h"

namespace lockstep::test::gpu {
namespace {

struct Pages {
  char* first = nullptr;
  std::size_t bytes = 0;
};

// Without `new`, which asks for pages.
std::array<Pages, 256>& all() {
  static std::array<Pages, 256> pages;
  return pages;
}

void add(void* first, std::size_t bytes) {
  for (Pages& one : all()) {
    if (one.first != nullptr) continue;
    one = {static_cast<char*>(first), bytes};
    return;
  }
  std::fputs("more pinned pages than this emulates\n", stderr);
  std::abort();
}

bool reaches(const void* address) {
  const auto* const at = static_cast<const char*>(address);
  for (const Pages& one : all())
    if (one.first != nullptr && at >= one.first && at <= one.first + one.bytes) return true;
  return false;
}

}  // namespace

const char* find_gpu() {
  near_gpu_reaches = &reaches;
  return nullptr;
}

void* pinned_pages(std::size_t bytes) {
  void* const pages =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  add(pages, bytes);
  return pages;
}

Reachable::Reachable(void* pages, std::size_t bytes) : pages_(pages) {
  add(pages, bytes);
}
Reachable::~Reachable() {
  for (Pages& one : all())
    if (one.first == pages_) one = {};
}

}  // namespace lockstep::test::gpu
