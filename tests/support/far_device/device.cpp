#include "support/far_device/device.h"

#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/numerics/cuda.h"
#include "lockstep/numerics/idle.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/ops/record.h"
#include "support/far_device/kernels.h"
#include "support/far_device/memory.h"

namespace lockstep::testing::far {
namespace {

void move(std::size_t bytes, const void* from, void* to) {
  if (bytes > 0) std::memmove(to, from, bytes);
}

// Done when they begin.
class FarUpload final : public numerics::DeviceMemory::Upload {
 public:
  explicit FarUpload(void* memory) : memory_(memory) {}
  ~FarUpload() override { release(memory_); }
  void* take() override { return std::exchange(memory_, nullptr); }

 private:
  void* memory_;
};
class FarDownload final : public numerics::DeviceMemory::Download {
 public:
  explicit FarDownload(std::span<const ByteView> pieces) {
    for (const ByteView piece : pieces) {
      const auto* const first = near(piece.data());
      pieces_.emplace_back(first, first + piece.size());
    }
  }
  void finish(std::span<void* const> to) override {
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      move(pieces_[i].size(), pieces_[i].data(), to[i]);
  }

 private:
  std::vector<std::vector<std::byte>> pieces_;
};

class FarMemory final : public numerics::DeviceMemory {
 public:
  void* take(std::size_t bytes) override {
    void* memory = allocate(bytes);
    if (memory == nullptr && bytes > 0 && others_give_back_) {
      others_give_back_();
      memory = allocate(bytes);
    }
    if (memory == nullptr && bytes > 0) throw std::bad_alloc();
    return memory;
  }
  void give_back(void* memory) override { release(memory); }
  void when_lacking(std::function<void()> give_back) override {
    others_give_back_ = std::move(give_back);
  }
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
  std::unique_ptr<numerics::Device> idle(std::function<void(std::int64_t)>) override {
    return std::make_unique<numerics::Idle>();  // the host's kernels: no memory of the device
  }
  numerics::Gpu own_stream() override { return {make_kernels(1), std::make_shared<FarMemory>()}; }
  std::unique_ptr<Upload> begin_from_host(std::size_t bytes, const void* from) override {
    void* const memory = take(bytes);
    from_host(bytes, from, memory);
    return std::make_unique<FarUpload>(memory);
  }
  std::unique_ptr<Download> begin_to_host(std::span<const ByteView> pieces) override {
    return std::make_unique<FarDownload>(pieces);
  }

 private:
  std::function<void()> others_give_back_;

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
