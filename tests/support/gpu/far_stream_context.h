// Private: where the work of far GPUs goes: into a stream, or into what is captured of it, as
// stream_context.cuh does it.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "lockstep/core/bytes.h"
#include "lockstep/numerics/device.h"
#include "numerics/cuda/arena.h"
#include "numerics/cuda/graphs.h"
#include "support/gpu/far_copy_stream.h"

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
struct FarStreamContext {
  using Graph = FarGraph;

  FarStreamContext(std::shared_ptr<Machine> its, bool own_stream)
      : machine(std::move(its)), now(own_stream ? own : Streams::kNull) {}
  ~FarStreamContext() { streams.destroy(own); }
  FarStreamContext(const FarStreamContext&) = delete;
  FarStreamContext& operator=(const FarStreamContext&) = delete;

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

}  // namespace lockstep::test::gpu
