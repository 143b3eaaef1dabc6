#include "support/far_device/device.h"

#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstring>

#include "support/far_device/memory.h"
#include "support/far_device/movement.h"

namespace lockstep::testing::far {
namespace {

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;

c10::Device only_device() {
  return {kType, 0};
}
c10::Stream only_stream() {
  return c10::Stream(c10::Stream::DEFAULT, only_device());
}

class Allocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* at = far::allocate(bytes);
    TORCH_CHECK_WITH(OutOfMemoryError, at != nullptr || bytes == 0, "far memory has no stretch of ",
                     bytes, " bytes");
    return {at, at, raw_deleter(), only_device()};
  }
  c10::DeleterFnPtr raw_deleter() const override { return release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    if (bytes > 0) std::memcpy(near(to), near(from), bytes);
  }
};

// One device, one stream. Events exist, because autograd may ask for them; their work is done.
class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kType; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  c10::Device getDevice() const override { return only_device(); }
  c10::Device exchangeDevice(c10::Device device) const override {
    setDevice(device);
    return only_device();
  }
  void setDevice(c10::Device device) const override {
    TORCH_CHECK(device.type() == kType && device.index() <= 0, "there is no device ", device);
  }
  void uncheckedSetDevice(c10::Device) const noexcept override {}

  c10::Stream getStream(c10::Device) const override { return only_stream(); }
  c10::Stream getDefaultStream(c10::Device) const override { return only_stream(); }
  c10::Stream getNewStream(c10::Device, int) const override { return only_stream(); }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override { return only_stream(); }
  c10::Stream exchangeStream(c10::Stream) const override { return only_stream(); }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeDevice(c10::DeviceIndex) const override {}

  void record(void**, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override {}
};

// What the engine and at::accelerator ask; the rest throws, as LibTorch wrote it.
class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
};

}  // namespace

c10::Device device() {
  static const bool registered = [] {
    // LibTorch keeps these pointers until the process ends.
    c10::register_privateuse1_backend("far");
    c10::SetAllocator(kType, new Allocator);
    c10::impl::registerDeviceGuard(kType, new Guard);
    at::RegisterPrivateUse1HooksInterface(new Hooks);
    register_movement();
    return true;
  }();
  static_cast<void>(registered);
  return only_device();
}

at::Tensor empty(at::IntArrayRef sizes, at::ScalarType type) {
  return at::Tensor(at::detail::empty_generic(sizes, c10::GetAllocator(device().type()),
                                              c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                              type, {}));
}

}  // namespace lockstep::testing::far
