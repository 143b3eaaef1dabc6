// Private: memory of the device for the kernels of one call. Gpu: device.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::numerics::cuda {

template <class Gpu, class T>
class Scratch {
 public:
  Scratch(Gpu& gpu, std::int64_t count)
      : gpu_(gpu), data_(static_cast<T*>(gpu.take(static_cast<std::size_t>(count) * sizeof(T)))) {}
  ~Scratch() { gpu_.give_back(data_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() const { return data_; }

 private:
  Gpu& gpu_;
  T* data_;
};

// The same with what the host has in it.
template <class Gpu, class T>
class Upload : public Scratch<Gpu, T> {
 public:
  Upload(Gpu& gpu, std::span<const T> values)
      : Scratch<Gpu, T>(gpu, static_cast<std::int64_t>(values.size())) {
    gpu.from_host(values.size_bytes(), values.data(), this->data());
  }
};

}  // namespace lockstep::numerics::cuda
