// Private: what device.h asks of a GPU, in far memory, as gpu.cuh does it.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "lockstep/core/bytes.h"
#include "lockstep/core/error.h"
#include "lockstep/numerics/device.h"
#include "numerics/cuda/graphs.h"
#include "support/far_device/memory.h"
#include "support/gpu/far_copy_stream.h"
#include "support/gpu/far_stream_context.h"
#include "support/gpu/orders.h"

namespace lockstep::test::gpu {

class FarGpu {
 public:
  using Event = FarEvent;
  using CopyStream = FarCopyStream;
  using Arrival = FarArrival;

  FarGpu(std::uint64_t seed, int multiprocessors, std::int64_t most_shared,
         std::shared_ptr<FarStreamContext> context)
      : orders_(seed, multiprocessors, most_shared), context_(std::move(context)) {}

  static std::string name() { return "an emulated GPU, in far memory"; }
  static std::string uuid() { return {}; }
  std::unique_ptr<FarGpu> clone() {
    return std::make_unique<FarGpu>(orders_.next(), multiprocessors(), most_shared(), context_);
  }
  std::unique_ptr<FarGpu> own_stream() {
    return std::make_unique<FarGpu>(orders_.next(), multiprocessors(), most_shared(),
                                    std::make_shared<FarStreamContext>(context_->machine, true));
  }

  int multiprocessors() const { return orders_.multiprocessors(); }
  std::int64_t most_shared() const { return orders_.most_shared(); }

  template <class Kernel>
  void launch(const numerics::cuda::Grid& grid, const Kernel& kernel) {
    if (grid.blocks == 0) return;
    streams().launch(stream(), [grid, kernel, seed = orders_.next(), most = most_shared()] {
      run_bounded(grid, kernel, seed, most);
    });
  }

  void* take(std::size_t bytes) {
    if (!capturing()) return take_far(*context_->machine, bytes, context_->now);
    void* memory = context_->arena.take(bytes);
    if (memory == nullptr) {
      memory = take_far(*context_->machine, bytes, context_->now);
      context_->arena.add(memory, bytes);
    }
    // In every launch it holds anything.
    streams().put(stream(), [memory, bytes] {
      if (bytes > 0) std::memset(memory, 0xff, bytes);
    });
    return memory;
  }
  void give_back(void* memory) {
    if (memory == nullptr || context_->arena.give_back(memory)) return;
    LOCKSTEP_ASSERT(context_->machine->memory.give_back(memory, context_->now),
                    "not taken, or twice back");
  }
  void when_lacking(std::function<void()> give_back) {
    context_->machine->others_give_back = std::move(give_back);
  }
  std::optional<std::int64_t> left() {
    context_->machine->streams.wait();  // then all that was given back is free
    return static_cast<std::int64_t>(testing::far::kMemoryBytes - testing::far::bytes_in_use());
  }

  // LibTorch's kernels are the host's, and do not wait for the stream.
  static std::string foreign_device() { return "cpu"; }
  void* foreign(void* memory) {
    streams().wait(stream());
    return testing::far::near(memory);
  }

  std::unique_ptr<Arrival> begin_to_host(std::span<const ByteView> pieces) {
    LOCKSTEP_ASSERT(!capturing(), "captured work asks for values on the host");
    return std::make_unique<Arrival>(context_->machine, pieces, context_->now);
  }
  void to_host(std::size_t bytes, const void* from, void* to) {
    LOCKSTEP_ASSERT(!capturing(), "captured work asks for values on the host");
    streams().wait(stream());
    move(bytes, testing::far::near(from), to);
  }
  void from_host(std::size_t bytes, const void* from, void* to) {
    const auto* const first = static_cast<const std::byte*>(from);
    copy_from(std::make_shared<Bytes>(first, first + bytes), to);
  }
  void copy(std::size_t bytes, const void* from, void* to) {
    streams().copy(stream(), [bytes, from = testing::far::near(from), to = testing::far::near(to)] {
      move(bytes, from, to);
    });
  }

  Event event() const { return Event(context_->machine); }
  std::unique_ptr<CopyStream> copy_stream() const {
    return std::make_unique<CopyStream>(context_->machine);
  }
  void record(Event& event) { event.record(context_->now); }
  void after(Event& event) { event.hold(context_->now); }

  void begin_capture() {
    LOCKSTEP_ASSERT(context_->now == Streams::kNull, "work of an own order is not captured");
    LOCKSTEP_ASSERT(!capturing(), "one capture at a time");
    context_->arena.begin_use();
    streams().begin_capture(context_->own);
    context_->capturing = true;
  }
  void cut_capture(std::function<void()> call) {
    context_->end_graph();
    context_->graphs.add(std::move(call));
    streams().begin_capture(context_->own);
  }
  std::unique_ptr<numerics::Captured> end_capture() {
    context_->end_graph();
    context_->capturing = false;
    return std::make_unique<numerics::cuda::CapturedGraphs<FarStreamContext>>(
        context_, std::exchange(context_->graphs, {}));
  }
  void drop_capture() { end_capture(); }
  bool capturing() const { return context_->capturing; }
  const std::uint64_t* moved() const { return context_->moved; }
  void moved(const std::uint64_t* by) { context_->moved = by; }
  void from_host_by(std::size_t bytes, const numerics::Device::Fill& fill, void* to) {
    context_->fills.emplace_back(fill, std::make_shared<Bytes>(bytes));
    copy_from(context_->fills.back().second, to);
  }

 private:
  Streams& streams() const { return context_->streams; }
  Streams::Stream stream() const { return context_->stream(); }

  void copy_from(std::shared_ptr<const Bytes> from, void* to) {
    streams().copy(stream(), [from = std::move(from), to = testing::far::near(to)] {
      move(from->size(), from->data(), to);
    });
  }
  Orders orders_;
  std::shared_ptr<FarStreamContext> context_;
};

}  // namespace lockstep::test::gpu
