#include "support/far_device/device.h"

#include <cstring>
#include <memory>
#include <new>

#include "lockstep/core/error.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/ops/record.h"
#include "support/far_device/memory.h"

namespace lockstep::testing::far {
namespace {

class FarMemory final : public numerics::DeviceMemory {
 public:
  void* take(std::size_t bytes) override {
    void* const memory = allocate(bytes);
    if (memory == nullptr && bytes > 0) throw std::bad_alloc();
    return memory;
  }
  void give_back(void* memory) override { release(memory); }
  std::optional<std::int64_t> left() override {
    return static_cast<std::int64_t>(kMemoryBytes - bytes_in_use());
  }
  std::string foreign_device() override { return "cpu"; }
  void* foreign(void* memory) override { return near(memory); }
  void to_host(std::size_t bytes, const void* from, void* to) override {
    move(bytes, near(from), to);
  }
  void from_host(std::size_t bytes, const void* from, void* to) override {
    move(bytes, from, near(to));
  }
  void copy(std::size_t bytes, const void* from, void* to) override {
    move(bytes, near(from), near(to));
  }
  void copy_items(const numerics::ItemCopy& items) override {
    copy_side(items, 0, static_cast<char*>(near(items.to)),
              static_cast<const char*>(near(items.from)));
  }

 private:
  static void move(std::size_t bytes, const void* from, void* to) {
    if (bytes > 0) std::memmove(to, from, bytes);
  }
  static void copy_side(const numerics::ItemCopy& items, std::size_t side, char* to,
                        const char* from) {
    if (side == items.sizes.size()) {
      std::memcpy(to, from, items.item);
      return;
    }
    const auto item = static_cast<std::int64_t>(items.item);
    for (std::int64_t i = 0; i < items.sizes[side]; ++i) {
      copy_side(items, side + 1, to, from);
      to += items.to_strides[side] * item;
      from += items.from_strides[side] * item;
    }
  }
};

}  // namespace

c10::Device device() {
  static const c10::Device registered = ops::gpu_tensors(std::make_shared<FarMemory>());
  return registered;
}

at::Tensor empty(at::IntArrayRef sizes, at::ScalarType type) {
  return ops::empty_on(device(), sizes, type);
}

}  // namespace lockstep::testing::far
