#include "lockstep/ops/gpu_tensors.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <mutex>
#include <string>
#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "ops/gpu_movement.h"
#include "ops/native_memory.h"
#include "ops/surroundings.h"

namespace lockstep::ops {
namespace {

constexpr c10::DeviceType kType =
    c10::DeviceType::PrivateUse1;  // LibTorch's, for devices of others

// LibTorch's engine of autograd sets the GPU of our device's number for CUDA, too, in the thread
// that runs our nodes. So it is CUDA's number: with another one that GPU's memory would be taken.
c10::DeviceIndex number = 0;

c10::Device only_device() {
  return {kType, number};
}
c10::Stream only_stream() {
  return c10::Stream(c10::Stream::DEFAULT, only_device());
}

// Tensors may outlive static objects.
std::shared_ptr<numerics::DeviceMemory>& the_memory() {
  static auto* const memory = new std::shared_ptr<numerics::DeviceMemory>;
  return *memory;
}

int sharers = 1;  // of the GPU: processes

class Allocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const auto& own = thread_place().memory;
    void* const at = gpu_memory().take(bytes);
    if (!own) return {at, at, raw_deleter(), only_device()};
    return {at, new Block{own, at}, &Block::release, only_device()};
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return [](void* memory) { the_memory()->give_back(memory); };
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    gpu_memory().copy(bytes, from, to);
  }

 private:
  // That goes back to where it came from, whichever thread does not need it any more.
  struct Block {
    std::shared_ptr<numerics::DeviceMemory> memory;
    void* at;

    static void release(void* context) {
      const std::unique_ptr<Block> block(static_cast<Block*>(context));
      block->memory->give_back(block->at);
    }
  };
};

// One device, one stream; those below its number are not there. Events exist, because autograd may
// ask for them; whoever waits for one waits in the stream's order anyway.
class DeviceGuard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kType; }
  c10::DeviceIndex deviceCount() const noexcept override {
    return static_cast<c10::DeviceIndex>(number + 1);
  }
  c10::Device getDevice() const override { return only_device(); }
  c10::Device exchangeDevice(c10::Device device) const override {
    setDevice(device);
    return only_device();
  }
  void setDevice(c10::Device device) const override {
    TORCH_CHECK(device.type() == kType && (!device.has_index() || device.index() == number),
                "there is no device ", device);
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
  bool hasPrimaryContext(c10::DeviceIndex device) const override { return device == number; }
  c10::DeviceIndex deviceCount() const override {
    return static_cast<c10::DeviceIndex>(number + 1);
  }
  c10::DeviceIndex getCurrentDevice() const override { return number; }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return number; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return number; }
};

}  // namespace

at::Device gpu_tensors(std::shared_ptr<numerics::DeviceMemory> memory) {
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  if (the_memory() == nullptr) {
    the_memory() = std::move(memory);
    the_memory()->when_lacking(native::give_back_kept);
    const c10::Device foreign(the_memory()->foreign_device());
    if (foreign.has_index()) number = foreign.index();
    // LibTorch keeps these pointers until the process ends.
    c10::register_privateuse1_backend("gpu");
    c10::SetAllocator(kType, new Allocator);
    c10::impl::registerDeviceGuard(kType, new DeviceGuard);
    at::RegisterPrivateUse1HooksInterface(new Hooks);
    register_gpu_movement();
  } else {
    LOCKSTEP_ASSERT(the_memory() == memory, "one GPU a process");
  }
  return only_device();
}

numerics::DeviceMemory& gpu_memory() {
  LOCKSTEP_ASSERT(the_memory() != nullptr, "no GPU");
  const auto& own = thread_place().memory;
  return own ? *own : *the_memory();
}

void share_gpu(int processes) {
  sharers = processes;
}

std::optional<MemoryLeft> memory_left(int processes) {
  if (tensors_device().is_cpu()) return lockstep::memory_left(processes);
  const auto bytes = gpu_memory().left();
  if (!bytes) return std::nullopt;
  const std::string shared =
      sharers > 1 ? ", which " + std::to_string(sharers) + " ranks share," : "";
  return MemoryLeft{*bytes / sharers, "the GPU's memory" + shared};
}

}  // namespace lockstep::ops
