// Graphs of the stand-in for CUDA's runtime: what a stream was told while it was captured.
// LOCKSTEP_PTX_SPOILS_CAPTURES=1: each fails when it ends.
#include <cstdlib>

#include "support/ptx/runtime.h"

using lockstep::test::gpu::Streams;
using lockstep::test::ptx::failed;
using lockstep::test::ptx::known;
using lockstep::test::ptx::runtime;

namespace {

template <class Handle>
Streams::Graph& graph_of(Handle handle) {
  return *reinterpret_cast<Streams::Graph*>(handle);
}

bool is_spoilt(Streams::Stream stream) {
  static const bool all = std::getenv("LOCKSTEP_PTX_SPOILS_CAPTURES") != nullptr;
  const std::scoped_lock lock(runtime().mutex);
  return runtime().spoilt.erase(stream) > 0 || all;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  const auto stream = known(handle);
  if (!stream) return failed(cudaErrorInvalidResourceHandle);
  if (*stream == Streams::kNull) return failed(cudaErrorStreamCaptureUnsupported);
  // The others forbid calls that allocate memory.
  if (mode != cudaStreamCaptureModeRelaxed) return failed(cudaErrorNotSupported);
  if (runtime().streams.captures(*stream)) return failed(cudaErrorIllegalState);
  runtime().streams.begin_capture(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  const auto stream = known(handle);
  if (!stream) return failed(cudaErrorInvalidResourceHandle);
  if (!runtime().streams.captures(*stream)) return failed(cudaErrorIllegalState);
  const Streams::Graph captured = runtime().streams.end_capture(*stream);
  *graph = nullptr;
  if (is_spoilt(*stream)) return failed(cudaErrorStreamCaptureInvalidated);
  *graph = reinterpret_cast<cudaGraph_t>(new Streams::Graph(captured));
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (nodes != nullptr) return cudaErrorNotSupported;
  *count = graph_of(graph)->size();
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  if (graph == nullptr) return failed(cudaErrorInvalidValue);
  delete &graph_of(graph);
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* runnable, cudaGraph_t graph,
                                 unsigned long long flags) {
  if (flags != 0) return failed(cudaErrorNotSupported);
  *runnable = reinterpret_cast<cudaGraphExec_t>(new Streams::Graph(graph_of(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t handle) {
  return known(handle) ? cudaSuccess : failed(cudaErrorInvalidResourceHandle);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t runnable, cudaStream_t handle) {
  const auto stream = known(handle);
  if (!stream) return failed(cudaErrorInvalidResourceHandle);
  runtime().streams.launch(*stream, graph_of(runnable));
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t runnable) {
  delete &graph_of(runnable);
  return cudaSuccess;
}

}  // extern "C"
#pragma GCC visibility pop
