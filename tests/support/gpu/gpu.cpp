#include "support/gpu/gpu.h"

#include <cstring>
#include <new>
#include <type_traits>
#include <vector>

#include "lockstep/core/error.h"
#include "numerics/cuda/kernels-inl.h"
#include "numerics/cuda/memory-inl.h"
#include "support/far_device/memory.h"
#include "support/gpu/grid.h"
#include "support/gpu/stream.h"
#include "support/gpu/stream_memory.h"

namespace lockstep::test::gpu {
namespace {

namespace far = testing::far;

// So few that small products are cut as large ones are; another number for another seed.
int few(std::uint64_t seed) {
  return 1 + static_cast<int>(seed % 4);
}

class Orders {
 public:
  Orders(std::uint64_t seed, int multiprocessors)
      : seed_(seed), multiprocessors_(multiprocessors) {}
  std::uint64_t next() { return seed_ = seed_ * 6364136223846793005U + 1442695040888963407U; }
  int multiprocessors() const { return multiprocessors_; }

 private:
  std::uint64_t seed_;
  int multiprocessors_;
};

// Runs it, if the kernel has registers for so many threads.
template <class Kernel>
void run_bounded(const numerics::cuda::Grid& grid, const Kernel& kernel, std::uint64_t seed) {
  static_assert(std::is_trivially_copyable_v<Kernel>, "a launch copies its bytes");
  static_assert(sizeof(Kernel) <= 4096, "what every launch may ask for");
  LOCKSTEP_ASSERT(grid.threads <= numerics::cuda::Bounds<Kernel>::kBlockThreads,
                  "a block of more threads than its kernel has registers for");
  run(grid, kernel, seed);
}

void move(std::size_t bytes, const void* from, void* to) {
  if (bytes != 0) std::memmove(to, from, bytes);
}

// What device.h asks of a GPU, at once and in the host's memory.
class NearGpu {
 public:
  explicit NearGpu(std::uint64_t seed) : orders_(seed, few(seed)) {}

  static std::string name() { return "an emulated GPU"; }
  std::unique_ptr<NearGpu> another() { return std::make_unique<NearGpu>(orders_.next()); }

  int multiprocessors() const { return orders_.multiprocessors(); }

  template <class Kernel>
  void launch(const numerics::cuda::Grid& grid, const Kernel& kernel) {
    run_bounded(grid, kernel, orders_.next());
  }

  // Full of NaNs: what nobody wrote is seen.
  void* take(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    void* const memory = ::operator new(bytes);
    std::memset(memory, 0xff, bytes);
    return memory;
  }
  void give_back(void* memory) { ::operator delete(memory); }

  void to_host(std::size_t bytes, const void* from, void* to) { move(bytes, from, to); }
  void from_host(std::size_t bytes, const void* from, void* to) { move(bytes, from, to); }
  void copy(std::size_t bytes, const void* from, void* to) { move(bytes, from, to); }

 private:
  Orders orders_;
};

// What far GPUs of a process share.
struct Machine {
  explicit Machine(std::uint64_t seed) : streams(seed) {}
  Streams streams;
  StreamMemory memory{streams};
};

void* take_far(Machine& machine, std::size_t bytes, Streams::Stream stream) {
  void* const memory = machine.memory.take(bytes, stream);
  if (memory == nullptr && bytes > 0) throw std::bad_alloc();
  return memory;
}

class FarEvent {
 public:
  explicit FarEvent(std::shared_ptr<Machine> machine)
      : machine_(std::move(machine)), event_(machine_->streams.create_event()) {}
  ~FarEvent() { machine_->streams.destroy_event(event_); }
  FarEvent(const FarEvent&) = delete;
  FarEvent& operator=(const FarEvent&) = delete;

  void record(Streams::Stream stream) { machine_->streams.record(event_, stream); }
  void hold(Streams::Stream stream) { machine_->streams.order(stream, event_); }
  void wait() { machine_->streams.wait_event(event_); }

 private:
  std::shared_ptr<Machine> machine_;
  Streams::Event event_;
};

// A stream beside the kernels' (numerics/cuda/copies-inl.h), with small slots.
class FarLine {
 public:
  static constexpr int kSlots = 2;
  static constexpr std::size_t kSlotBytes = std::size_t{1} << 18;

  explicit FarLine(std::shared_ptr<Machine> machine)
      : machine_(std::move(machine)),
        stream_(machine_->streams.create(Streams::Kind::kNonBlocking)) {}
  ~FarLine() {
    machine_->streams.wait(stream_);
    machine_->streams.destroy(stream_);
  }
  FarLine(const FarLine&) = delete;
  FarLine& operator=(const FarLine&) = delete;

  void* take(std::size_t bytes) { return take_far(*machine_, bytes, stream_); }
  std::byte* slot(int number) {
    slots_[number].done.wait();
    return slots_[number].memory;
  }
  void from_slot(int number, std::size_t bytes, void* to) {
    copy(slots_[number], bytes, slots_[number].memory, far::near(to));
  }
  void to_slot(int number, std::size_t bytes, const void* from) {
    copy(slots_[number], bytes, far::near(from), slots_[number].memory);
  }
  void record(FarEvent& event) { event.record(stream_); }
  void after(FarEvent& event) { event.hold(stream_); }

 private:
  struct Slot {
    FarEvent done;
    std::byte memory[kSlotBytes] = {};
  };

  void copy(Slot& slot, std::size_t bytes, const void* from, void* to) {
    machine_->streams.copy(stream_, [bytes, from, to] { move(bytes, from, to); });
    slot.done.record(stream_);
  }

  std::shared_ptr<Machine> machine_;
  Streams::Stream stream_;
  Slot slots_[kSlots] = {{FarEvent(machine_)}, {FarEvent(machine_)}};
};

// The same as NearGpu in far memory and in streams.
class FarGpu {
 public:
  using Event = FarEvent;
  using Line = FarLine;

  FarGpu(std::uint64_t seed, int multiprocessors, std::shared_ptr<Machine> machine)
      : orders_(seed, multiprocessors), machine_(std::move(machine)) {}

  static std::string name() { return "an emulated GPU, in far memory"; }
  std::unique_ptr<FarGpu> another() {
    return std::make_unique<FarGpu>(orders_.next(), multiprocessors(), machine_);
  }

  int multiprocessors() const { return orders_.multiprocessors(); }

  template <class Kernel>
  void launch(const numerics::cuda::Grid& grid, const Kernel& kernel) {
    if (grid.blocks == 0) return;
    streams().launch(Streams::kNull,
                     [grid, kernel, seed = orders_.next()] { run_bounded(grid, kernel, seed); });
  }

  void* take(std::size_t bytes) { return take_far(*machine_, bytes, Streams::kNull); }
  void give_back(void* memory) {
    if (memory == nullptr) return;
    LOCKSTEP_ASSERT(machine_->memory.give_back(memory, Streams::kNull), "not taken, or twice back");
  }
  std::optional<std::int64_t> left() {
    return static_cast<std::int64_t>(far::kMemoryBytes - far::bytes_in_use());
  }

  // LibTorch's kernels are the host's, and do not wait for the stream.
  static std::string foreign_device() { return "cpu"; }
  void* foreign(void* memory) {
    streams().wait(Streams::kNull);
    return far::near(memory);
  }

  void to_host(std::size_t bytes, const void* from, void* to) {
    streams().wait(Streams::kNull);
    move(bytes, far::near(from), to);
  }
  void from_host(std::size_t bytes, const void* from, void* to) {
    const auto* const first = static_cast<const char*>(from);
    streams().copy(Streams::kNull, [kept = std::vector<char>(first, first + bytes),
                                    to = far::near(to)] { move(kept.size(), kept.data(), to); });
  }
  void copy(std::size_t bytes, const void* from, void* to) {
    streams().copy(Streams::kNull,
                   [bytes, from = far::near(from), to = far::near(to)] { move(bytes, from, to); });
  }

  Event event() const { return Event(machine_); }
  std::unique_ptr<Line> line() const { return std::make_unique<Line>(machine_); }
  void record(Event& event) { event.record(Streams::kNull); }
  void after(Event& event) { event.hold(Streams::kNull); }

 private:
  Streams& streams() { return machine_->streams; }

  Orders orders_;
  std::shared_ptr<Machine> machine_;
};

}  // namespace

std::unique_ptr<numerics::Device> make_gpu(std::uint64_t seed) {
  return std::make_unique<numerics::cuda::Device<NearGpu>>(std::make_unique<NearGpu>(seed));
}

numerics::Gpu open_gpu(std::uint64_t seed, std::optional<int> multiprocessors) {
  using namespace numerics::cuda;
  const auto machine = std::make_shared<Machine>(seed);
  const auto gpu = [&](std::uint64_t own) {
    return std::make_unique<FarGpu>(own, multiprocessors.value_or(few(own)), machine);
  };
  return {std::make_unique<Device<FarGpu>>(gpu(seed)),
          std::make_shared<Memory<FarGpu>>(gpu(seed + 1))};
}

}  // namespace lockstep::test::gpu
