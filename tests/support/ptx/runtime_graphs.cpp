// Graphs of the stand-in for CUDA's runtime: what a stream was told while it was captured.
#include "support/ptx/runtime.h"

using lockstep::test::gpu::Streams;
using lockstep::test::ptx::known;
using lockstep::test::ptx::runtime;

namespace {

template <class Handle>
Streams::Graph& graph_of(Handle handle) {
  return *reinterpret_cast<Streams::Graph*>(handle);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  const auto stream = known(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (*stream == Streams::kNull) return cudaErrorStreamCaptureUnsupported;
  // The others forbid calls that allocate memory.
  if (mode != cudaStreamCaptureModeRelaxed) return cudaErrorNotSupported;
  if (runtime().streams.captures(*stream)) return cudaErrorIllegalState;
  runtime().streams.begin_capture(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  const auto stream = known(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (!runtime().streams.captures(*stream)) return cudaErrorIllegalState;
  *graph =
      reinterpret_cast<cudaGraph_t>(new Streams::Graph(runtime().streams.end_capture(*stream)));
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (nodes != nullptr) return cudaErrorNotSupported;
  *count = graph_of(graph)->size();
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete &graph_of(graph);
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* runnable, cudaGraph_t graph,
                                 unsigned long long flags) {
  if (flags != 0) return cudaErrorNotSupported;
  *runnable = reinterpret_cast<cudaGraphExec_t>(new Streams::Graph(graph_of(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t runnable, cudaStream_t handle) {
  const auto stream = known(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  runtime().streams.launch(*stream, graph_of(runnable));
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t runnable) {
  delete &graph_of(runnable);
  return cudaSuccess;
}

}  // extern "C"
#pragma GCC visibility pop
