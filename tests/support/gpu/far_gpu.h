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
#include "support/gpu/far_course.h"
#include "support/gpu/far_line.h"
#include "support/gpu/orders.h"

namespace lockstep::test::gpu {

class FarGpu {
 public:
  using Event = FarEvent;
  using Line = FarLine;
  using Arrival = FarArrival;

  FarGpu(std::uint64_t seed, int multiprocessors, std::int64_t most_shared,
         std::shared_ptr<FarCourse> course)
      : orders_(seed, multiprocessors, most_shared), course_(std::move(course)) {}

  static std::string name() { return "an emulated GPU, in far memory"; }
  static std::string uuid() { return {}; }
  std::unique_ptr<FarGpu> another() {
    return std::make_unique<FarGpu>(orders_.next(), multiprocessors(), most_shared(), course_);
  }
  std::unique_ptr<FarGpu> own_order() {
    return std::make_unique<FarGpu>(orders_.next(), multiprocessors(), most_shared(),
                                    std::make_shared<FarCourse>(course_->machine, true));
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
    if (!capturing()) return take_far(*course_->machine, bytes, course_->now);
    void* memory = course_->arena.take(bytes);
    if (memory == nullptr) {
      memory = take_far(*course_->machine, bytes, course_->now);
      course_->arena.add(memory, bytes);
    }
    // In every launch it holds anything.
    streams().put(stream(), [memory, bytes] {
      if (bytes > 0) std::memset(memory, 0xff, bytes);
    });
    return memory;
  }
  void give_back(void* memory) {
    if (memory == nullptr || course_->arena.give_back(memory)) return;
    LOCKSTEP_ASSERT(course_->machine->memory.give_back(memory, course_->now),
                    "not taken, or twice back");
  }
  std::optional<std::int64_t> left() {
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
    return std::make_unique<Arrival>(course_->machine, pieces, course_->now);
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

  Event event() const { return Event(course_->machine); }
  std::unique_ptr<Line> line() const { return std::make_unique<Line>(course_->machine); }
  void record(Event& event) { event.record(course_->now); }
  void after(Event& event) { event.hold(course_->now); }

  void begin_capture() {
    LOCKSTEP_ASSERT(course_->now == Streams::kNull, "work of an own order is not captured");
    LOCKSTEP_ASSERT(!capturing(), "one capture at a time");
    course_->arena.begin_use();
    streams().begin_capture(course_->own);
    course_->capturing = true;
  }
  void cut_capture(std::function<void()> call) {
    course_->end_graph();
    course_->graphs.add(std::move(call));
    streams().begin_capture(course_->own);
  }
  std::unique_ptr<numerics::Captured> end_capture() {
    course_->end_graph();
    course_->capturing = false;
    return std::make_unique<numerics::cuda::CapturedGraphs<FarCourse>>(
        course_, std::exchange(course_->graphs, {}));
  }
  void drop_capture() { end_capture(); }
  bool capturing() const { return course_->capturing; }
  const std::uint64_t* moved() const { return course_->moved; }
  void moved(const std::uint64_t* by) { course_->moved = by; }
  void from_host_by(std::size_t bytes, const numerics::Device::Fill& fill, void* to) {
    course_->fills.emplace_back(fill, std::make_shared<Bytes>(bytes));
    copy_from(course_->fills.back().second, to);
  }

 private:
  Streams& streams() const { return course_->streams; }
  Streams::Stream stream() const { return course_->stream(); }

  void copy_from(std::shared_ptr<const Bytes> from, void* to) {
    streams().copy(stream(), [from = std::move(from), to = testing::far::near(to)] {
      move(from->size(), from->data(), to);
    });
  }
  Orders orders_;
  std::shared_ptr<FarCourse> course_;
};

}  // namespace lockstep::test::gpu
