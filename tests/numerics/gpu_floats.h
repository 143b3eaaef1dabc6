// Memory of a GPU for floats, for tests.
#pragma once

#include <cstdint>

#include "lockstep/numerics/device_memory.h"

namespace lockstep::numerics {

class GpuFloats {
 public:
  GpuFloats(DeviceMemory& memory, std::int64_t count)
      : memory_(memory),
        floats_(static_cast<float*>(memory.take(static_cast<std::size_t>(count) * sizeof(float)))) {
  }
  ~GpuFloats() { memory_.give_back(floats_); }
  GpuFloats(const GpuFloats&) = delete;
  GpuFloats& operator=(const GpuFloats&) = delete;

  operator float*() const { return floats_; }

 private:
  DeviceMemory& memory_;
  float* floats_;
};

}  // namespace lockstep::numerics
