// Private: a stream beside the kernels', for copies through pinned memory, as copies-inl.h wants
// it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "numerics/cuda/event.cuh"
#include "numerics/cuda/must.cuh"
#include "numerics/cuda/pool.cuh"

namespace lockstep::numerics::cuda {

// Pinned memory; that which a GPU that hangs may still use stays.
inline void free_pinned(void* memory) noexcept {
  if (!hangs()) cudaFreeHost(memory);
}

class CopyStream {
 public:
  static constexpr int kSlots = 2;
  static constexpr std::size_t kSlotBytes = std::size_t{4} << 20;

  CopyStream(int number, std::shared_ptr<Pool> pool)
      : number_(make_current(number)),
        pool_(std::move(pool)),
        slots_{{Slot(number), Slot(number)}} {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
    pool_->add(stream_);
  }
  ~CopyStream() {
    for (Slot& slot : slots_) free_pinned(slot.memory);
    pool_->remove(stream_);
    cudaStreamDestroy(stream_);
  }
  CopyStream(const CopyStream&) = delete;
  CopyStream& operator=(const CopyStream&) = delete;

  // Memory for what comes next in the stream.
  void* take(std::size_t bytes) {
    make_current(number_);
    return pool_->take(bytes, stream_);
  }
  // Pinned memory of the host, when the copy before is done.
  std::byte* slot(int number) {
    make_current(number_);
    Slot& slot = slots_[static_cast<std::size_t>(number)];
    if (slot.memory == nullptr) {
      must(cudaMallocHost(&slot.memory, kSlotBytes), "memory for copies");
    } else {
      slot.done.wait();
    }
    return static_cast<std::byte*>(slot.memory);
  }
  void from_slot(int number, std::size_t bytes, void* to) {
    copy(number, to, slots_[static_cast<std::size_t>(number)].memory, bytes,
         cudaMemcpyHostToDevice);
  }
  void to_slot(int number, std::size_t bytes, const void* from) {
    copy(number, slots_[static_cast<std::size_t>(number)].memory, from, bytes,
         cudaMemcpyDeviceToHost);
  }
  void record(Event& event) {
    make_current(number_);
    event.record(stream_);
  }
  void after(Event& event) {
    make_current(number_);
    event.hold(stream_);
  }

 private:
  struct Slot {
    explicit Slot(int number) : done(number) {}
    void* memory = nullptr;
    Event done;
  };

  void copy(int number, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    make_current(number_);
    must(cudaMemcpyAsync(to, from, bytes, kind, stream_), "a copy");
    slots_[static_cast<std::size_t>(number)].done.record(stream_);
  }

  int number_;
  const std::shared_ptr<Pool> pool_;
  cudaStream_t stream_ = nullptr;
  std::array<Slot, kSlots> slots_;
};

}  // namespace lockstep::numerics::cuda
