// Private: where the work of a process on one GPU goes: into the null stream, which LibTorch's
// kernels use, too, or, while work is captured, into a graph (CUDA C++ Programming Guide, "CUDA
// Graphs"), or into several. All Gpus (gpu.cuh) of the GPU share it, but those that have
// an order of their own: these share another, whose stream waits for nothing of the null stream's.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/numerics/device.h"
#include "numerics/cuda/arena.h"
#include "numerics/cuda/backlog.cuh"
#include "numerics/cuda/event.cuh"
#include "numerics/cuda/graphs.h"
#include "numerics/cuda/landing.cuh"
#include "numerics/cuda/must.cuh"
#include "numerics/cuda/pool.cuh"
#include "numerics/cuda/staging.cuh"

namespace lockstep::numerics::cuda {

// What a graph reads of the host: pinned memory that stays, and who writes it before a launch.
class GraphInputs {
 public:
  // A place for so many bytes, until the graph is gone.
  void* place(std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (blocks_.empty() || used_ + bytes > blocks_.back()->bytes()) {
      blocks_.push_back(std::make_unique<Pinned>(std::max(bytes, kBlock)));
      used_ = 0;
    }
    void* const at = blocks_.back()->data() + used_;
    used_ += (bytes + 255) / 256 * 256;
    return at;
  }
  void add(numerics::Device::Fill fill, void* at) {
    const std::scoped_lock lock(mutex_);
    fills_.emplace_back(std::move(fill), at);
  }
  void fill(std::uint64_t moved) const {
    for (const auto& [fill, at] : fills_) fill(moved, at);
  }

 private:
  static constexpr std::size_t kBlock = std::size_t{256} << 10;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Pinned>> blocks_;
  std::size_t used_ = 0;  // of the last one
  std::vector<std::pair<numerics::Device::Fill, void*>> fills_;
};

// A graph that can be launched.
class Graph {
 public:
  using Calls = std::unique_ptr<CUgraph_st, decltype(&cudaGraphDestroy)>;

  Graph(int number, const Calls& calls, std::unique_ptr<GraphInputs> inputs)
      : number_(number), inputs_(std::move(inputs)), done_(number) {
    must(cudaGraphInstantiate(&runnable_, calls.get(), 0), "a graph");
    // Now, where a GPU without memory for it is told: a launch would do it else.
    const cudaError_t uploaded = cudaGraphUpload(runnable_, nullptr);
    if (uploaded != cudaSuccess) cudaGraphExecDestroy(runnable_);
    must(uploaded, "a graph");
  }
  ~Graph() {
    cudaSetDevice(number_);  // in whichever thread this is
    done_.settle();          // it may still read its inputs
    if (!hangs()) cudaGraphExecDestroy(runnable_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(std::uint64_t moved) {
    make_current(number_);
    done_.wait();  // the launch before may still read its inputs
    inputs_->fill(moved);
    must(cudaGraphLaunch(runnable_, nullptr), "a graph");
    done_.record(nullptr);
  }

 private:
  const int number_;
  const std::unique_ptr<GraphInputs> inputs_;
  cudaGraphExec_t runnable_ = nullptr;
  Event done_;
};

class StreamContext {
 public:
  using Graph = cuda::Graph;

  // In the null stream.
  explicit StreamContext(int number)
      : number_(make_current(number)), pool_(std::make_shared<Pool>(number)), backlog_(number) {
    // Not a blocking one: the null stream may be used while something is captured.
    must(cudaStreamCreateWithFlags(&own_, cudaStreamNonBlocking), "a stream");
  }
  // In a stream of its own.
  explicit StreamContext(std::shared_ptr<Pool> pool)
      : number_(make_current(pool->number())), pool_(std::move(pool)), backlog_(number_) {
    // Multiprocessors take its blocks first: others wait for them.
    int least = 0, greatest = 0;
    must(cudaDeviceGetStreamPriorityRange(&least, &greatest), "priorities");
    must(cudaStreamCreateWithPriority(&own_, cudaStreamNonBlocking, greatest), "a stream");
    now_ = own_;
    pool_->add(now_);
  }
  ~StreamContext() {
    if (now_ != nullptr) pool_->remove(now_);
    cudaStreamDestroy(own_);
  }
  StreamContext(const StreamContext&) = delete;
  StreamContext& operator=(const StreamContext&) = delete;

  int number() const { return number_; }
  cudaStream_t stream() const { return capturing_ ? own_ : now_; }
  // Of what is not captured.
  cudaStream_t now() const { return now_; }
  // A kernel or a copy will be launched.
  void add() {
    if (!capturing_) backlog_.add(now_);
  }
  bool capturing() const { return capturing_; }
  const std::shared_ptr<Pool>& pool() const { return pool_; }
  Stagings& stagings() { return stagings_; }
  std::shared_ptr<Landings> landings() const { return landings_; }
  // Where the GPU finds by how much positions are moved, in work that is captured; else null.
  const std::uint64_t* moved() const { return moved_; }
  void moved(const std::uint64_t* by) { moved_ = by; }

  void* take(std::size_t bytes) {
    void* memory = capturing_ ? arena_.take(bytes) : nullptr;
    if (memory != nullptr) return memory;
    memory = pool_->take(bytes, now_);
    if (capturing_) arena_.add(memory, bytes);
    return memory;
  }
  void give_back(void* memory) {
    if (!arena_.give_back(memory)) cudaFreeAsync(memory, now_);
  }

  void begin() {
    LOCKSTEP_ASSERT(now_ == nullptr, "work of an own order is not captured");
    LOCKSTEP_ASSERT(!capturing_, "one capture at a time");
    begin_graph();
    arena_.begin_use();
    capturing_ = true;
  }
  // What is captured next comes after this call of the host.
  void cut(std::function<void()> call) {
    end_graph();
    graphs_.add(std::move(call));
    begin_graph();
  }
  // What was captured: `end_use` when it is gone.
  Graphs<Graph> end() {
    end_graph();
    capturing_ = false;
    return std::exchange(graphs_, {});
  }
  // It is given up, wherever it failed: a call that cannot be captured may have spoilt it already.
  void drop() {
    capturing_ = false;
    if (inputs_) {
      cudaGraph_t calls = nullptr;
      if (cudaStreamEndCapture(own_, &calls) == cudaSuccess) {
        cudaGraphDestroy(calls);
      } else {
        cudaGetLastError();  // forgets it
      }
    }
    inputs_.reset();
    graphs_.clear();
    end_use();
  }
  void end_use() {
    cudaSetDevice(number_);  // in whichever thread this is
    for (void* const block : arena_.end_use()) cudaFreeAsync(block, now_);
  }

  // Copies that are captured.
  void from_host(std::size_t bytes, const void* from, void* to) {
    void* const at = inputs_->place(bytes);
    std::memcpy(at, from, bytes);
    must(cudaMemcpyAsync(to, at, bytes, cudaMemcpyHostToDevice, own_), "a copy");
  }
  void from_host_by(std::size_t bytes, const numerics::Device::Fill& fill, void* to) {
    void* const at = inputs_->place(bytes);
    inputs_->add(fill, at);
    must(cudaMemcpyAsync(to, at, bytes, cudaMemcpyHostToDevice, own_), "a copy");
  }

 private:
  void begin_graph() {
    auto inputs = std::make_unique<GraphInputs>();
    must(cudaStreamBeginCapture(own_, cudaStreamCaptureModeRelaxed), "a capture");
    inputs_ = std::move(inputs);
  }
  // Of nothing: none.
  void end_graph() {
    auto inputs = std::move(inputs_);
    cudaGraph_t ended = nullptr;
    must(cudaStreamEndCapture(own_, &ended), "a capture");
    const Graph::Calls calls(ended, &cudaGraphDestroy);
    std::size_t count = 0;
    must(cudaGraphGetNodes(calls.get(), nullptr, &count), "a capture");
    if (count > 0) graphs_.add(std::make_unique<Graph>(number_, calls, std::move(inputs)));
  }

  int number_;
  const std::shared_ptr<Pool> pool_;
  cudaStream_t own_ = nullptr;  // of what is captured, or of all work
  cudaStream_t now_ = nullptr;
  Backlog backlog_;
  Stagings stagings_;
  const std::shared_ptr<Landings> landings_ = std::make_shared<Landings>();
  std::atomic<bool> capturing_ = false;
  Arena arena_;
  Graphs<Graph> graphs_;                 // so far
  std::unique_ptr<GraphInputs> inputs_;  // of the graph that is captured
  const std::uint64_t* moved_ = nullptr;
};

}  // namespace lockstep::numerics::cuda
