// Private: captured work (numerics/device.h) as graphs, and calls of the host between them.
//
//   context.end_use()     when nothing uses the graphs' memory any more
//   graph.launch(moved)   behind what was launched before
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "lockstep/numerics/device.h"

namespace lockstep::numerics::cuda {

template <class Graph>
class Graphs {
 public:
  void add(std::unique_ptr<Graph> graph) { graphs_.push_back({std::move(graph), {}}); }
  // After the graphs that were added: at least one.
  void add(std::function<void()> call) { graphs_.back().calls.push_back(std::move(call)); }

  // The host waits for no graph: a call that needs what one computed waits itself.
  void launch(std::uint64_t moved) const {
    for (const One& one : graphs_) {
      one.graph->launch(moved);
      for (const auto& call : one.calls) call();
    }
  }
  void clear() {
    for (One& one : graphs_) one.calls.clear();  // they hold memory of the graphs
    graphs_.clear();
  }

 private:
  struct One {
    std::unique_ptr<Graph> graph;
    std::vector<std::function<void()>> calls;  // after it
  };
  std::vector<One> graphs_;
};

template <class StreamContext>
class CapturedGraphs final : public Captured {
 public:
  using All = Graphs<typename StreamContext::Graph>;

  CapturedGraphs(std::shared_ptr<StreamContext> context, All graphs)
      : context_(std::move(context)), graphs_(std::move(graphs)) {}
  ~CapturedGraphs() override {
    graphs_.clear();
    context_->end_use();
  }

  void launch(std::uint64_t moved) override { graphs_.launch(moved); }

 private:
  const std::shared_ptr<StreamContext> context_;
  All graphs_;
};

}  // namespace lockstep::numerics::cuda
