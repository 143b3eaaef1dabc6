// Private: marks (numerics/device.h) for CUDA: events. A Gpu that has them has this for it:
//
//   gpu.event(), gpu.record(event)   an event; it is what was called before
//   event.wait()                     until that is done, in any thread
#pragma once

#include <memory>
#include <utility>

#include "numerics/cuda/device.h"

namespace lockstep::numerics::cuda {

template <class Gpu>
concept Marks = requires(Gpu& gpu) {
  gpu.event();
};

template <class Event>
class EventMark final : public Mark {
 public:
  // Recorded with what was called before.
  template <class Gpu>
  explicit EventMark(Gpu& gpu) : event_(gpu.event()) {
    gpu.record(event_);
  }
  void wait() override { event_.wait(); }

 private:
  Event event_;
};

template <class Gpu>
std::unique_ptr<Mark> Device<Gpu>::mark() {
  if constexpr (Marks<Gpu>) {
    return std::make_unique<EventMark<typename Gpu::Event>>(*gpu_);
  } else {
    return numerics::Device::mark();
  }
}

}  // namespace lockstep::numerics::cuda
