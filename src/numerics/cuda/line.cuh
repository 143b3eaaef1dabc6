// Private: a stream beside the kernels', for copies through pinned memory, as copies-inl.h wants
// it.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <thread>

#include "numerics/cuda/must.cuh"

namespace lockstep::numerics::cuda {

class Event {
 public:
  // How the host waits. Spinning takes a core, and is a little faster. Sleeping looks from time to
  // time, after a while of spinning: few waits are long, and systems sleep longer than they are
  // told. CUDA's own sleep (cudaEventBlockingSync) counts on an interrupt, and would last for ever
  // where a virtual machine lost it.
  enum class Waits { kSleeping, kSpinning };

  explicit Event(int number, Waits waits = Waits::kSleeping)
      : number_(make_current(number)), waits_(waits) {
    must(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "an event");
  }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) { must(cudaEventRecord(event_, stream), "an event"); }
  // What comes next in the stream waits for it.
  void hold(cudaStream_t stream) { must(cudaStreamWaitEvent(stream, event_, 0), "an event"); }
  void wait() {
    make_current(number_);
    const cudaError_t found = done();
    if (found == cudaErrorNotReady) end_for_hanging();
    must(found, "the work before");
  }
  // The same in destructors: where the GPU is lost, nothing is under way.
  void settle() noexcept { done(); }

 private:
  static constexpr std::chrono::microseconds kSpins{100}, kBetweenLooks{20};

  // Not ready: the GPU hangs.
  cudaError_t done() noexcept {
    const auto begun = std::chrono::steady_clock::now();
    for (;;) {
      if (hangs()) return cudaErrorNotReady;
      // Before the look: this process may have been stopped for long, and the GPU not.
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begun;
      const cudaError_t found = cudaEventQuery(event_);
      if (found != cudaErrorNotReady) return found;
      cudaGetLastError();  // it is one: the next launch would have failed
      if (waited.count() > Patience::seconds) Patience::over = true;
      if (waits_ == Waits::kSpinning || waited < kSpins)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(kBetweenLooks);
    }
  }

  int number_;
  Waits waits_;
  cudaEvent_t event_ = nullptr;
};

// Pinned memory; that which a GPU that hangs may still use stays.
inline void free_pinned(void* memory) noexcept {
  if (!hangs()) cudaFreeHost(memory);
}

class Line {
 public:
  static constexpr int kSlots = 2;
  static constexpr std::size_t kSlotBytes = std::size_t{4} << 20;

  explicit Line(int number) : number_(make_current(number)), slots_{{Slot(number), Slot(number)}} {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
  }
  ~Line() {
    for (Slot& slot : slots_) free_pinned(slot.memory);
    cudaStreamDestroy(stream_);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  // Memory for what comes next in the line.
  void* take(std::size_t bytes) {
    void* memory = nullptr;
    make_current(number_);
    must(cudaMallocAsync(&memory, bytes, stream_), "memory");
    return memory;
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
  cudaStream_t stream_ = nullptr;
  std::array<Slot, kSlots> slots_;
};

}  // namespace lockstep::numerics::cuda
