#include "support/ptx/global_memory.h"

#include <new>

namespace lockstep::test::ptx {

GlobalMemory::~GlobalMemory() {
  for (const auto& [number, page] : pages_) std::free(page);
}

void GlobalMemory::begin_launch() {
  if (now_ > UINT32_MAX / 2) {  // nobody remembers
    for (const auto& [number, page] : pages_) *page = {};
    now_ = 0;
  }
  first_of_launch_ = first_of_block_ = now_ + 1;
}

GlobalMemory::Page& GlobalMemory::find(std::uintptr_t number) {
  Page*& page = pages_[number];
  if (page == nullptr) {
    void* const memory = std::malloc(sizeof(Page));
    if (memory == nullptr) std::abort();
    page = new (memory) Page;
  }
  return *page;
}

GlobalMemory& global_memory() {
  thread_local GlobalMemory all;
  return all;
}

}  // namespace lockstep::test::ptx
