// Private: events (numerics/device.h) for CUDA. A Gpu that has them has this for it:
//
//   gpu.event(), gpu.record(event)   an event; it is what was called before
//   event.wait()                     until that is done, in any thread
#pragma once

#include <memory>

#include "numerics/cuda/device.h"

namespace lockstep::numerics::cuda {

template <class Gpu>
concept Events = requires(Gpu& gpu) {
  gpu.event();
};

template <class Recorded>
class GpuEvent final : public numerics::Event {
 public:
  // Recorded with what was called before.
  template <class Gpu>
  explicit GpuEvent(Gpu& gpu) : event_(gpu.event()) {
    gpu.record(event_);
  }
  void wait() override { event_.wait(); }

 private:
  Recorded event_;
};

template <class Gpu>
std::unique_ptr<numerics::Event> Device<Gpu>::record_event() {
  if constexpr (Events<Gpu>) {
    return std::make_unique<GpuEvent<typename Gpu::Event>>(*gpu_);
  } else {
    return numerics::Device::record_event();
  }
}

}  // namespace lockstep::numerics::cuda
