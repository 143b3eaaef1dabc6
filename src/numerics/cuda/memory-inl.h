// Private: memory of a GPU for tensors. Gpu: device.h.
#pragma once

#include <memory>
#include <mutex>

#include "lockstep/core/error.h"
#include "lockstep/numerics/cuda.h"
#include "lockstep/numerics/device_memory.h"
#include "numerics/cuda/copies-inl.h"
#include "numerics/cuda/divisor.h"
#include "numerics/cuda/elements.h"
#include "numerics/cuda/idle_gpu.h"
#include "numerics/cuda/kernels-inl.h"
#include "numerics/cuda/thread.h"

namespace lockstep::numerics::cuda {

// The sides of an ItemCopy, the innermost first, those joined that lie behind each other in both
// tensors.
struct ItemSides {
  struct Side {
    std::int64_t to = 0, from = 0;
    Divisor size{1, 0};
  };
  int count = 0;
  Side all[ItemCopy::kMostSides];

  ItemSides(const ItemCopy& items, std::int64_t n) {
    std::int64_t sizes[ItemCopy::kMostSides];
    for (std::size_t d = items.sizes.size(); d > 0; --d) {
      const std::int64_t size = items.sizes[d - 1], to = items.to_strides[d - 1],
                         from = items.from_strides[d - 1];
      if (size == 1) continue;
      const int inner = count - 1;
      if (count > 0 && to == all[inner].to * sizes[inner] &&
          from == all[inner].from * sizes[inner]) {
        sizes[inner] *= size;
        continue;
      }
      LOCKSTEP_ASSERT(count < static_cast<int>(ItemCopy::kMostSides));
      sizes[count] = size;
      all[count++] = {to, from};
    }
    for (int s = 0; s < count; ++s) all[s].size = Divisor(sizes[s], n);
  }
};

// An item on its way, and where it goes.
template <class T>
struct Item {
  T value;
  std::int64_t to;
};

template <class T>
struct ReadItem {
  ItemSides sides;
  const T* from;

  LOCKSTEP_DEVICE Item<T> operator()(std::int64_t i) const {
    std::int64_t to = 0, at = 0;
    for (int s = 0; s < sides.count; ++s) {
      const ItemSides::Side& side = sides.all[s];
      const std::int64_t outer = side.size.quotient(i), along = i - outer * side.size.value();
      i = outer;
      to += along * side.to;
      at += along * side.from;
    }
    return {from[at], to};
  }
};
template <class T>
struct WriteItem {
  T* to;
  LOCKSTEP_DEVICE void operator()(std::int64_t, const Item<T>& item) const {
    to[item.to] = item.value;
  }
};

template <class Gpu>
class Memory final : public DeviceMemory {
 public:
  explicit Memory(std::unique_ptr<Gpu> gpu) : gpu_(std::move(gpu)), copies_(*gpu_, mutex_) {}

  void* take(std::size_t bytes) override {
    const std::scoped_lock lock(mutex_);
    return gpu_->take(bytes);
  }
  void give_back(void* memory) override {
    const std::scoped_lock lock(mutex_);
    gpu_->give_back(memory);
  }
  void when_lacking(std::function<void()> give_back) override {
    const std::scoped_lock lock(mutex_);
    gpu_->when_lacking(std::move(give_back));
  }
  std::optional<std::int64_t> left() override {
    const std::scoped_lock lock(mutex_);
    return gpu_->left();
  }
  std::string foreign_device() override { return gpu_->foreign_device(); }
  void* foreign(void* memory) override {
    const std::scoped_lock lock(mutex_);
    return gpu_->foreign(memory);
  }
  void to_host(std::size_t bytes, const void* from, void* to) override {
    const std::scoped_lock lock(mutex_);
    gpu_->to_host(bytes, from, to);
  }
  void from_host(std::size_t bytes, const void* from, void* to) override {
    const std::scoped_lock lock(mutex_);
    gpu_->from_host(bytes, from, to);
  }
  void copy(std::size_t bytes, const void* from, void* to) override {
    const std::scoped_lock lock(mutex_);
    gpu_->copy(bytes, from, to);
  }
  std::unique_ptr<numerics::Device> idle(std::function<void(std::int64_t)> scratch) override {
    return std::make_unique<Device<IdleGpu>>(std::make_unique<IdleGpu>(
        gpu_->multiprocessors(), gpu_->most_shared(), std::move(scratch)));
  }
  numerics::Gpu own_stream() override {
    const std::scoped_lock lock(mutex_);
    if (own_ == nullptr) own_ = std::make_shared<Memory>(gpu_->own_stream());
    return {own_->kernels(), own_};
  }
  std::unique_ptr<DeviceMemory::Upload> begin_from_host(std::size_t bytes,
                                                        const void* from) override {
    return copies_.begin_from_host(bytes, from);
  }
  std::unique_ptr<DeviceMemory::Download> begin_to_host(std::span<const ByteView> pieces) override {
    return copies_.begin_to_host(pieces);
  }
  void copy_items(const ItemCopy& items) override {
    switch (items.item) {
      case 1:
        return copy_as<std::uint8_t>(items);
      case 2:
        return copy_as<std::uint16_t>(items);
      case 4:
        return copy_as<std::uint32_t>(items);
      case 8:
        return copy_as<std::uint64_t>(items);
      default:
        LOCKSTEP_ASSERT(false, "items of " + std::to_string(items.item) + " bytes");
    }
  }

 private:
  std::unique_ptr<Device<Gpu>> kernels() {
    const std::scoped_lock lock(mutex_);
    return std::make_unique<Device<Gpu>>(gpu_->clone());
  }

  template <class T>
  void copy_as(const ItemCopy& items) {
    std::int64_t n = 1;
    for (const std::int64_t size : items.sizes) n *= size;
    if (n == 0) return;
    const std::scoped_lock lock(mutex_);
    each_together(*gpu_, n, ReadItem<T>{ItemSides(items, n), static_cast<const T*>(items.from)},
                  WriteItem<T>{static_cast<T*>(items.to)});
  }

  std::mutex mutex_;
  std::unique_ptr<Gpu> gpu_;
  std::shared_ptr<Memory> own_;
  Copies<Gpu> copies_;
};

}  // namespace lockstep::numerics::cuda
