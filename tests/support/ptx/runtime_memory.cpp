// Memory of the stand-in for CUDA's runtime, the GPU's and pinned, and copies.
#include <cstdlib>
#include <cstring>

#include "support/far_device/memory.h"
#include "support/ptx/foreign.h"
#include "support/ptx/runtime.h"

namespace {

using namespace lockstep::test;
using gpu::Streams;
using ptx::failed;
using ptx::known;
using ptx::lost;
using ptx::queue_another;
using ptx::Runtime;
using ptx::runtime;
using ptx::wait_if_it_hangs;
using ptx::working;
namespace far = lockstep::testing::far;

// Of both sides: what is far must be what the copy says.
bool sides_are_right(const void* to, const void* from, cudaMemcpyKind kind) {
  const bool to_gpu = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_gpu = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  return far::is_far(to) == to_gpu && far::is_far(from) == from_gpu;
}

bool lies_in(ptx::Memory& memory, const void* start, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uint64_t>(start);
  return first + bytes <= memory.around(first).end;
}

}  // namespace

namespace lockstep::test::ptx {

// When the copy runs: memory of the GPU is there from the stream's cudaMallocAsync to its
// cudaFreeAsync.
void move(void* to, const void* from, std::size_t bytes) {
  for (const void* const side : {static_cast<const void*>(to), from})
    if (far::is_far(side) && !lies_in(memory(), side, bytes))
      die("a copy before its memory was allocated or after it was freed: no event orders them");
  const auto on_host = [](const void* side) {
    return far::is_far(side) ? far::near_address(side) : reinterpret_cast<std::uintptr_t>(side);
  };
  std::memmove(reinterpret_cast<void*>(on_host(to)), reinterpret_cast<void*>(on_host(from)), bytes);
}

void Runtime::there(void* start, std::size_t bytes) {
  ptx::memory().add(start, bytes,
                    far::near_address(start) - reinterpret_cast<std::uintptr_t>(start));
}
void Runtime::gone(void* start, std::size_t) {
  ptx::memory().remove(start);
  runtime().pool.done(start);
}
std::size_t Runtime::all_bytes() {
  const char* const asked = std::getenv("LOCKSTEP_PTX_MEMORY");
  return asked == nullptr ? far::kMemoryBytes : std::strtoull(asked, nullptr, 10) * 1024;
}

bool occupy(std::size_t bytes) {
  return runtime().pool.take_apart(bytes, [&] { return far::take(bytes); }) != nullptr;
}

bool is_of_gpu(const void* address) {
  return far::is_far(address);
}

}  // namespace lockstep::test::ptx

using lockstep::test::ptx::move;

namespace {

// A block, which is the stream's from now on; of the GPU's own memory or of the pool's.
cudaError_t take(void** memory, std::size_t bytes, cudaStream_t handle, bool apart) {
  queue_another();
  const auto stream = working(handle);
  if (!stream) return failed(cudaErrorInvalidResourceHandle);
  *memory = nullptr;
  if (bytes == 0) return cudaSuccess;
  Runtime& all = runtime();
  const auto place = [&] { return all.memory.take(bytes, *stream); };
  *memory = apart ? all.pool.take_apart(bytes, place) : all.pool.take(bytes, *stream, place);
  return *memory == nullptr ? failed(cudaErrorMemoryAllocation) : cudaSuccess;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  *pool = nullptr;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void* value) {
  switch (attribute) {
    case cudaMemPoolReuseAllowInternalDependencies: {
      const bool allowed = *static_cast<const int*>(value) != 0;
      runtime().memory.order_streams(allowed);
      runtime().pool.order_streams(allowed);
      return cudaSuccess;
    }
    case cudaMemPoolAttrReleaseThreshold:
      runtime().pool.threshold(*static_cast<const std::uint64_t*>(value));
      return cudaSuccess;
    default:
      return failed(cudaErrorInvalidValue);
  }
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t keep) {
  if (lost()) return failed(cudaErrorUnknown);
  runtime().pool.trim(keep);
  return cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void* value) {
  switch (attribute) {
    case cudaMemPoolAttrReservedMemCurrent:
      *static_cast<std::uint64_t*>(value) = runtime().pool.reserved();
      return cudaSuccess;
    case cudaMemPoolAttrUsedMemCurrent:
      *static_cast<std::uint64_t*>(value) = runtime().pool.used();
      return cudaSuccess;
    default:
      return failed(cudaErrorInvalidValue);
  }
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  if (lost()) return failed(cudaErrorUnknown);
  *total = runtime().pool.all();
  *free = runtime().pool.free();
  return cudaSuccess;
}

cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t handle) {
  return take(memory, bytes, handle, /*apart=*/false);
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t handle) {
  queue_another();
  const auto stream = working(handle);
  if (!stream) return failed(cudaErrorInvalidResourceHandle);
  Runtime& all = runtime();
  const bool taken = all.pool.give_back(memory, *stream) && all.memory.give_back(memory, *stream);
  return taken ? cudaSuccess : failed(cudaErrorInvalidValue);
}

// Both wait for all work.
cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (lost()) return failed(cudaErrorUnknown);
  const cudaError_t result = take(memory, bytes, nullptr, /*apart=*/true);
  runtime().streams.wait(Streams::kNull);
  return result;
}
cudaError_t cudaFree(void* memory) {
  if (memory == nullptr) return cudaSuccess;
  if (lost()) return failed(cudaErrorUnknown);
  wait_if_it_hangs();
  runtime().streams.wait();
  const cudaError_t result = cudaFreeAsync(memory, nullptr);
  runtime().streams.wait(Streams::kNull);
  return result;
}

// Pinned memory: a GPU reads and writes it as late as it likes, and has done so before it is given
// back.
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  if (lost()) return failed(cudaErrorUnknown);
  *memory = std::malloc(bytes);
  if (*memory == nullptr) return failed(cudaErrorMemoryAllocation);
  runtime().pinned.add(*memory, bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  if (lost()) return failed(cudaErrorUnknown);
  wait_if_it_hangs();
  runtime().streams.wait();
  runtime().pinned.remove(memory);
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned) {
  runtime().pinned.add(memory, bytes);
  ptx::memory().add(memory, bytes);
  return cudaSuccess;
}
// gpu_programs/pinned.h
void reach_only(void* start, std::size_t bytes) {
  ptx::memory().remove(start);
  if (bytes > 0) ptx::memory().add(start, bytes);
}
cudaError_t cudaHostUnregister(void* memory) {
  if (lost()) return failed(cudaErrorUnknown);
  wait_if_it_hangs();
  runtime().streams.wait();
  runtime().pinned.remove(memory);
  ptx::memory().remove(memory);
  return cudaSuccess;
}

// CUDA Runtime API, "API synchronization behavior": from pageable memory the bytes are taken when
// the stream is done; to pageable memory they have come when the call returns.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t handle) {
  queue_another();
  const auto stream = known(handle);
  if (!stream) return failed(cudaErrorInvalidResourceHandle);
  if (!sides_are_right(to, from, kind)) return failed(cudaErrorInvalidValue);
  if (bytes == 0) return cudaSuccess;
  Runtime& all = runtime();
  const bool from_pageable = !far::is_far(from) && !lies_in(all.pinned, from, bytes);
  const bool to_pageable = !far::is_far(to) && !lies_in(all.pinned, to, bytes);
  // Allowed, but then the bytes are those of when the graph runs: nobody wants that.
  if (all.streams.captures(*stream) && (from_pageable || to_pageable))
    return failed(cudaErrorStreamCaptureUnsupported);
  if (from_pageable) {
    all.streams.wait(*stream);
    const auto* const first = static_cast<const char*>(from);
    all.streams.copy(*stream, [to, taken = std::vector<char>(first, first + bytes)] {
      move(to, taken.data(), taken.size());
    });
    return cudaSuccess;
  }
  all.streams.copy(*stream, [=] { move(to, from, bytes); });
  if (to_pageable) all.streams.wait(*stream);
  return cudaSuccess;
}

}  // extern "C"
#pragma GCC visibility pop
