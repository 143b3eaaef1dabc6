// Private: events and streams of far GPUs beside the kernels' one, as numerics/cuda/copies-inl.h
// wants them.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <span>

#include "lockstep/core/bytes.h"
#include "numerics/cuda/pieces.h"
#include "support/far_device/memory.h"
#include "support/gpu/stream.h"
#include "support/gpu/stream_memory.h"

namespace lockstep::test::gpu {

inline void move(std::size_t bytes, const void* from, void* to) {
  if (bytes != 0) std::memmove(to, from, bytes);
}

// What far GPUs of a process share.
struct Machine {
  explicit Machine(std::uint64_t seed)
      : streams(seed, [] { return std::make_shared<testing::far::Kernel>(); }) {
    memory.order_streams(false);
  }
  Streams streams;
  StreamMemory memory{streams};
  std::function<void()> others_give_back;
};

inline void* take_far(Machine& machine, std::size_t bytes, Streams::Stream stream) {
  void* memory = machine.memory.take(bytes, stream);
  if (memory == nullptr && bytes > 0) {
    machine.streams.wait();  // then all that was given back is free
    memory = machine.memory.take(bytes, stream);
  }
  if (memory == nullptr && bytes > 0 && machine.others_give_back) {
    machine.others_give_back();
    memory = machine.memory.take(bytes, stream);
  }
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

// Few bytes on their way to the host (numerics/cuda/update-inl.h).
class FarArrival {
 public:
  FarArrival(std::shared_ptr<Machine> machine, std::span<const ByteView> pieces,
             Streams::Stream stream)
      : there_(std::make_shared<Bytes>(numerics::cuda::joined_size(pieces))), done_(machine) {
    std::size_t at = 0;
    for (const ByteView piece : pieces) {
      machine->streams.copy(stream, [there = there_, at, bytes = piece.size(),
                                     from = testing::far::near(piece.data())] {
        move(bytes, from, there->data() + at);
      });
      at += piece.size();
    }
    done_.record(stream);
  }

  const std::byte* wait() {
    done_.wait();
    return there_->data();
  }

 private:
  const std::shared_ptr<Bytes> there_;
  FarEvent done_;
};

// A stream beside the kernels' (numerics/cuda/copies-inl.h), with small slots.
class FarCopyStream {
 public:
  static constexpr int kSlots = 2;
  static constexpr std::size_t kSlotBytes = std::size_t{1} << 18;

  explicit FarCopyStream(std::shared_ptr<Machine> machine)
      : machine_(std::move(machine)),
        stream_(machine_->streams.create(Streams::Kind::kNonBlocking)) {}
  ~FarCopyStream() {
    machine_->streams.wait(stream_);
    machine_->streams.destroy(stream_);
  }
  FarCopyStream(const FarCopyStream&) = delete;
  FarCopyStream& operator=(const FarCopyStream&) = delete;

  void* take(std::size_t bytes) { return take_far(*machine_, bytes, stream_); }
  std::byte* slot(int number) {
    slots_[number].done.wait();
    return slots_[number].memory;
  }
  void from_slot(int number, std::size_t bytes, void* to) {
    copy(slots_[number], bytes, slots_[number].memory, testing::far::near(to));
  }
  void to_slot(int number, std::size_t bytes, const void* from) {
    copy(slots_[number], bytes, testing::far::near(from), slots_[number].memory);
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

}  // namespace lockstep::test::gpu
