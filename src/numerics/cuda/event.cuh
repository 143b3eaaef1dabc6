// Private: what the host and streams wait for.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
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

}  // namespace lockstep::numerics::cuda
