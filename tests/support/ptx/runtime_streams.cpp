// Streams and events of the stand-in for CUDA's runtime (support/gpu/stream.h).
#include <algorithm>

#include "support/ptx/foreign.h"
#include "support/ptx/runtime.h"

namespace lockstep::test::ptx {

void put_when(cudaStream_t handle, std::function<bool()> ready, std::function<void()> work) {
  const auto stream = known(handle);
  if (!stream) die("work for a stream that is not there");
  runtime().streams.put_when(*stream, std::move(ready), std::move(work));
}

}  // namespace lockstep::test::ptx

using lockstep::test::gpu::Streams;
using lockstep::test::ptx::failed;
using lockstep::test::ptx::known;
using lockstep::test::ptx::lost;
using lockstep::test::ptx::queue_another;
using lockstep::test::ptx::runtime;
using lockstep::test::ptx::wait_if_it_hangs;
using lockstep::test::ptx::working;

namespace {

constexpr int kLeast = 0, kGreatest = -5;  // priorities

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* handle, unsigned flags) {
  if (flags != cudaStreamDefault && flags != cudaStreamNonBlocking)
    return failed(cudaErrorInvalidValue);
  *handle = reinterpret_cast<cudaStream_t>(runtime().streams.create(
      flags == cudaStreamNonBlocking ? Streams::Kind::kNonBlocking : Streams::Kind::kBlocking));
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = kLeast;
  *greatest = kGreatest;
  return cudaSuccess;
}
// It is remembered, but a stream's turn is by chance.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* handle, unsigned flags, int priority) {
  const cudaError_t result = cudaStreamCreateWithFlags(handle, flags);
  if (result != cudaSuccess) return result;
  const std::scoped_lock lock(runtime().mutex);
  runtime().priorities[reinterpret_cast<Streams::Stream>(*handle)] =
      std::clamp(priority, kGreatest, kLeast);
  return cudaSuccess;
}
cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  const auto stream = known(handle);
  if (!stream) return failed(cudaErrorInvalidResourceHandle);
  const std::scoped_lock lock(runtime().mutex);
  const auto given = runtime().priorities.find(*stream);
  *priority = given == runtime().priorities.end() ? 0 : given->second;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  const auto stream = working(handle);
  if (!stream || *stream == Streams::kNull) return failed(cudaErrorInvalidResourceHandle);
  runtime().streams.destroy(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  const auto stream = working(handle);
  if (!stream) return failed(cudaErrorInvalidResourceHandle);
  wait_if_it_hangs();
  runtime().streams.wait(*stream);
  runtime().pool.see();
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  const auto stream = working(handle);
  if (!stream) return failed(cudaErrorInvalidResourceHandle);
  static const bool waits = std::getenv("LOCKSTEP_PTX_LOADING") != nullptr;
  if (waits) runtime().streams.wait();
  return runtime().streams.done(*stream) ? cudaSuccess : failed(cudaErrorNotReady);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned flags) {
  queue_another();
  const auto stream = working(handle);
  const auto event = known(event_handle);
  if (!stream || !event) return failed(cudaErrorInvalidResourceHandle);
  if (flags != cudaEventWaitDefault) return failed(cudaErrorInvalidValue);
  runtime().streams.order(*stream, *event);
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  if (lost()) return failed(cudaErrorUnknown);
  wait_if_it_hangs();
  runtime().streams.wait();
  runtime().pool.see();
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned) {
  *handle = reinterpret_cast<cudaEvent_t>(runtime().streams.create_event());
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  const auto event = known(handle);
  if (!event) return failed(cudaErrorInvalidResourceHandle);
  runtime().streams.destroy_event(*event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle) {
  queue_another();
  const auto event = known(handle);
  const auto stream = working(stream_handle);
  if (!event || !stream) return failed(cudaErrorInvalidResourceHandle);
  runtime().streams.record(*event, *stream);
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  const auto event = known(handle);
  if (!event) return failed(cudaErrorInvalidResourceHandle);
  wait_if_it_hangs();
  runtime().streams.wait_event(*event);
  runtime().pool.see();
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t handle) {
  const auto event = known(handle);
  if (!event) return failed(cudaErrorInvalidResourceHandle);
  if (runtime().hangs) return failed(cudaErrorNotReady);
  return runtime().streams.event_done(*event) ? cudaSuccess : failed(cudaErrorNotReady);
}

}  // extern "C"
#pragma GCC visibility pop
