#include "ops/native_memory.h"

#include <atomic>
#include <exception>
#include <new>

namespace lockstep::ops::native {
namespace {

std::atomic<c10::DeviceAllocator*> watched = nullptr;
std::atomic<c10::DeviceIndex> watched_gpu = 0;

}  // namespace

void watch_allocator(c10::DeviceAllocator* allocator, c10::DeviceIndex gpu) {
  watched_gpu = gpu;
  watched = allocator;
}

void with_enough_memory(const std::function<void()>& call) {
  c10::DeviceAllocator* const allocator = watched;
  if (allocator == nullptr) return call();
  const auto lacks = [&] { return allocator->getDeviceStats(watched_gpu).num_ooms; };
  const auto before = lacks();
  try {
    call();
  } catch (const std::exception&) {  // cuDNN has its own
    if (lacks() == before) throw;
  }
  if (lacks() != before) throw std::bad_alloc();
}

void give_back_kept() {
  c10::DeviceAllocator* const allocator = watched;
  if (allocator != nullptr) allocator->emptyCache();
}

}  // namespace lockstep::ops::native
