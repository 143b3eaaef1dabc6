// Private: what device.h asks of a GPU, in far memory and in a stream, or in what is captured of
// it, as gpu.cuh and course.cuh do it.
#pragma once

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/core/bytes.h"
#include "lockstep/core/error.h"
#include "lockstep/numerics/device.h"
#include "numerics/cuda/arena.h"
#include "numerics/cuda/graphs.h"
#include "support/far_device/memory.h"
#include "support/gpu/far_line.h"
#include "support/gpu/orders.h"

namespace lockstep::test::gpu {

class FarGraph {
 public:
  using Fills = std::vector<std::pair<numerics::Device::Fill, std::shared_ptr<Bytes>>>;

  FarGraph(std::shared_ptr<Machine> machine, Streams::Graph work, Fills fills)
      : machine_(std::move(machine)), work_(std::move(work)), fills_(std::move(fills)) {}

  // The bytes change when the graph begins: one that was launched before may be still to come.
  void launch(std::uint64_t moved) {
    std::vector<Bytes> filled;
    for (const auto& [fill, bytes] : fills_) {
      filled.emplace_back(bytes->size());
      fill(moved, filled.back().data());
    }
    machine_->streams.put(Streams::kNull, [fills = fills_, filled = std::move(filled)] {
      for (std::size_t i = 0; i < fills.size(); ++i) *fills[i].second = filled[i];
    });
    machine_->streams.launch(Streams::kNull, work_);
  }

 private:
  const std::shared_ptr<Machine> machine_;
  const Streams::Graph work_;
  const Fills fills_;
};

// What the FarGpus of one GPU share.
struct FarCourse {
  using Graph = FarGraph;

  FarCourse(std::shared_ptr<Machine> its, bool own_order)
      : machine(std::move(its)), now(own_order ? own : Streams::kNull) {}
  ~FarCourse() { streams.destroy(own); }
  FarCourse(const FarCourse&) = delete;
  FarCourse& operator=(const FarCourse&) = delete;

  Streams::Stream stream() const { return capturing ? own : now; }
  void end_use() {
    for (void* const block : arena.end_use()) machine->memory.give_back(block, now);
  }
  void end_graph() {
    auto work = streams.end_capture(own);
    auto its = std::exchange(fills, {});
    if (!work->empty())
      graphs.add(std::make_unique<FarGraph>(machine, std::move(work), std::move(its)));
  }

  const std::shared_ptr<Machine> machine;
  Streams& streams = machine->streams;
  const Streams::Stream own = streams.create(Streams::Kind::kNonBlocking, Of::kOwnOrders);
  const Streams::Stream now;  // of what is not captured
  std::atomic<bool> capturing = false;
  const std::uint64_t* moved = nullptr;
  numerics::cuda::Arena arena;
  numerics::cuda::Graphs<FarGraph> graphs;  // so far
  FarGraph::Fills fills;                    // of the graph that is captured
};

class FarGpu {
 public:
  using Event = FarEvent;
  using Line = FarLine;

  FarGpu(std::uint64_t seed, int multiprocessors, std::shared_ptr<FarCourse> course)
      : orders_(seed, multiprocessors), course_(std::move(course)) {}

  static std::string name() { return "an emulated GPU, in far memory"; }
  std::unique_ptr<FarGpu> another() {
    return std::make_unique<FarGpu>(orders_.next(), multiprocessors(), course_);
  }
  std::unique_ptr<FarGpu> own_order() {
    return std::make_unique<FarGpu>(orders_.next(), multiprocessors(),
                                    std::make_shared<FarCourse>(course_->machine, true));
  }

  int multiprocessors() const { return orders_.multiprocessors(); }

  template <class Kernel>
  void launch(const numerics::cuda::Grid& grid, const Kernel& kernel) {
    if (grid.blocks == 0) return;
    streams().launch(stream(),
                     [grid, kernel, seed = orders_.next()] { run_bounded(grid, kernel, seed); });
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
