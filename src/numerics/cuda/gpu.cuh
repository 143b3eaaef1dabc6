// Private: one of NVIDIA's GPUs, as device.h, events-inl.h and copies-inl.h want it. All work of a
// process is in one stream (stream_context.cuh), but for copies (copy_stream.cuh) and what has its
// own order.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "numerics/cuda/copy_stream.cuh"
#include "numerics/cuda/landing.cuh"
#include "numerics/cuda/stream_context.cuh"
#include "numerics/cuda/thread.h"

namespace lockstep::numerics::cuda {

// "12345678-1234-…", as nvidia-smi has it.
inline std::string uuid_of(int number) {
  cudaDeviceProp facts{};
  must(cudaGetDeviceProperties(&facts, number), "its UUID");
  std::string text = to_hex(std::as_bytes(std::span(facts.uuid.bytes)));
  for (const std::size_t at : {8, 13, 18, 23}) text.insert(at, "-");
  return text;
}

// A thread of a kernel (thread.h).
class GpuThread {
 public:
  LOCKSTEP_DEVICE std::int64_t block() const { return blockIdx.x; }
  LOCKSTEP_DEVICE std::int64_t blocks() const { return gridDim.x; }
  LOCKSTEP_DEVICE int thread() const { return static_cast<int>(threadIdx.x); }
  LOCKSTEP_DEVICE int threads() const { return static_cast<int>(blockDim.x); }
  LOCKSTEP_DEVICE void barrier() { __syncthreads(); }
  template <class T>
  LOCKSTEP_DEVICE T* shared() {
    extern __shared__ __align__(16) unsigned char memory[];
    return reinterpret_cast<T*>(memory);
  }
  LOCKSTEP_DEVICE void mma(std::int32_t (&sums)[4], const std::uint32_t (&a)[4],
                           const std::uint32_t (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
  // PTX ISA, "ldmatrix": a matrix is of 8 x 8 values of 16 bits.
  LOCKSTEP_DEVICE void load_matrices(std::uint32_t (&to)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
                 : "memory");
  }
  LOCKSTEP_DEVICE void load_turned_matrices(std::uint32_t (&to)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
                 : "memory");
  }
  template <int kWhich>
  LOCKSTEP_DEVICE std::uint32_t bytes(std::uint32_t a, std::uint32_t b) {
    return __byte_perm(a, b, kWhich);
  }
  template <class T>
  LOCKSTEP_DEVICE T shuffle_down(T value, int lanes) {
    return __shfl_down_sync(0xffffffffU, value, static_cast<unsigned>(lanes));
  }
  // PTX ISA, "cp.async": of the 16 bytes none are read, all are zeros, if the source has none.
  LOCKSTEP_DEVICE void copy_async(void* to, const void* from, bool there) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(__cvta_generic_to_global(from)), "r"(there ? 16 : 0)
                 : "memory");
  }
  LOCKSTEP_DEVICE void copy_reread(void* to, const void* from, bool there) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(__cvta_generic_to_global(from)), "r"(there ? 16 : 0)
                 : "memory");
  }
  LOCKSTEP_DEVICE void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
  template <int kNewest>
  LOCKSTEP_DEVICE void wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kNewest) : "memory");
  }
};

template <class Kernel>
__global__ void __launch_bounds__(Bounds<Kernel>::kBlockThreads, Bounds<Kernel>::kResidentBlocks)
    run(const Kernel kernel) {
  GpuThread thread;
  kernel(thread);
}

// The functions of all kernels that are launched anywhere in this library.
inline std::vector<const void*>& kernels() {
  static std::vector<const void*> all;
  return all;
}
template <class Kernel>
inline const bool listed = [] {
  kernels().push_back(reinterpret_cast<const void*>(run<Kernel>));
  return true;
}();

// Of kernels that take fewer: enough for any GPU.
inline constexpr std::int64_t kMostBlocks = std::int64_t{1} << 20;

class Gpu {
 public:
  using Event = cuda::Event;
  using CopyStream = cuda::CopyStream;
  using Arrival = cuda::Arrival;

  // As if it had so many multiprocessors, if that is not 0.
  Gpu(int number, int multiprocessors) : number_(number), multiprocessors_(multiprocessors) {
    here();
    if (multiprocessors == 0)
      must(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, number),
           "how many multiprocessors there are");
    must(cudaDeviceGetAttribute(&most_shared_, cudaDevAttrMaxSharedMemoryPerBlockOptin, number),
         "how much shared memory there is");
    context_ = std::make_shared<StreamContext>(number);
  }
  // Another one whose work goes there.
  Gpu(const Gpu& one, std::shared_ptr<StreamContext> context)
      : number_(one.number_),
        multiprocessors_(one.multiprocessors_),
        most_shared_(one.most_shared_),
        context_(std::move(context)) {}
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  ~Gpu() {
    if (staging_) context_->stagings().give_back(std::move(staging_));
  }

  int multiprocessors() const { return multiprocessors_; }
  std::int64_t most_shared() const { return most_shared_; }

  std::unique_ptr<Gpu> clone() const { return std::make_unique<Gpu>(*this, context_); }
  // One whose work is in a stream of its own, and that of its others.
  std::unique_ptr<Gpu> own_stream() const {
    return std::make_unique<Gpu>(*this, std::make_shared<StreamContext>(context_->pool()));
  }

  std::string name() const {
    cudaDeviceProp facts{};
    must(cudaGetDeviceProperties(&facts, number_), "its name");
    return std::string(facts.name) + ", compute capability " + std::to_string(facts.major) + "." +
           std::to_string(facts.minor);
  }
  std::string uuid() const { return uuid_of(number_); }

  // All kernels, before the first is launched. The driver would load each with its first launch,
  // and keep every other call of the process waiting until the GPU has done all its work (CUDA
  // Programming Guide, "Lazy Loading"): a message of NCCL's, too, which other ranks are to answer.
  void load() {
    here();
    std::size_t anyway = 0;  // that a kernel has of its own, or of the driver's
    for (const void* const kernel : kernels()) {
      cudaFuncAttributes facts{};
      must(cudaFuncGetAttributes(&facts, kernel), "a kernel was not loaded");
      anyway = std::max(anyway, facts.sharedSizeBytes);
    }
    most_shared_ -= static_cast<int>(anyway);
    // A limit: the same for all launches, because a graph may hold several that differ.
    for (const void* const kernel : kernels())
      must(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared_),
           "shared memory for a kernel");
  }

  template <class Kernel>
  void launch(const Grid& grid, const Kernel& kernel) {
    LOCKSTEP_ASSERT(listed<Kernel>, "a kernel that was not loaded");
    if (grid.blocks == 0) return;
    here();
    context_->add();
    const std::int64_t blocks = grid.fewer_do ? std::min(grid.blocks, kMostBlocks) : grid.blocks;
    run<<<static_cast<unsigned>(blocks), static_cast<unsigned>(grid.threads),
          static_cast<std::size_t>(grid.shared_bytes), context_->stream()>>>(kernel);
    must(cudaGetLastError(), "a kernel was not launched");
  }

  void* take(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    here();
    return context_->take(bytes);
  }
  void give_back(void* memory) {
    if (memory == nullptr) return;
    cudaSetDevice(number_);  // in destructors, too: if the GPU or the driver is gone, so is this
    context_->give_back(memory);
  }
  Event event() const {
    here();
    return Event(number_);
  }
  std::unique_ptr<CopyStream> copy_stream() const {
    return std::make_unique<CopyStream>(number_, context_->pool());
  }
  // The event is what was called before; what is called next comes after the event.
  void record(Event& event) {
    here();
    event.record(context_->now());
  }
  void after(Event& event) {
    here();
    event.hold(context_->now());
  }
  void when_lacking(std::function<void()> give_back) {
    context_->pool()->when_lacking(std::move(give_back));
  }
  std::optional<std::int64_t> left() {
    here();
    return context_->pool()->left();
  }

  // LibTorch's kernels are in the same stream.
  std::string foreign_device() const { return "cuda:" + std::to_string(number_); }
  void* foreign(void* memory) const { return memory; }

  std::unique_ptr<Arrival> begin_to_host(std::span<const ByteView> pieces) {
    LOCKSTEP_ASSERT(!context_->capturing(), "captured work asks for values on the host");
    here();
    for (std::size_t i = 0; i < pieces.size(); ++i) context_->add();  // a copy each
    return std::make_unique<Arrival>(context_->landings(), number_, pieces, context_->now());
  }
  void to_host(std::size_t bytes, const void* from, void* to) {
    if (bytes == 0) return;
    LOCKSTEP_ASSERT(!context_->capturing(), "captured work asks for values on the host");
    here();
    staging().bring(bytes, from, to, context_->now());
  }
  void from_host(std::size_t bytes, const void* from, void* to) {
    if (bytes == 0) return;
    here();
    if (context_->capturing()) return context_->from_host(bytes, from, to);
    context_->add();
    staging().send(bytes, from, to, context_->now());
  }
  void copy(std::size_t bytes, const void* from, void* to) {
    if (bytes == 0) return;
    here();
    context_->add();  // a state's tensors are copied one by one
    must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, context_->stream()), "a copy");
  }

  // Captures (Device::capture): between the two work of every Gpu of this context is captured.
  void begin_capture() {
    here();
    context_->begin();
  }
  void cut_capture(std::function<void()> call) {
    here();
    context_->cut(std::move(call));
  }
  std::unique_ptr<Captured> end_capture() {
    return std::make_unique<CapturedGraphs<StreamContext>>(context_, context_->end());
  }
  void drop_capture() { context_->drop(); }
  bool capturing() const { return context_->capturing(); }
  const std::uint64_t* moved() const { return context_->moved(); }
  void moved(const std::uint64_t* by) { context_->moved(by); }
  void from_host_by(std::size_t bytes, const numerics::Device::Fill& fill, void* to) {
    here();
    context_->from_host_by(bytes, fill, to);
  }

 private:
  void here() const { make_current(number_); }
  Staging& staging() {
    if (!staging_) staging_ = context_->stagings().take(number_);
    return *staging_;
  }

  int number_, multiprocessors_, most_shared_ = 0;
  std::shared_ptr<StreamContext> context_;
  std::unique_ptr<Staging> staging_;
};

}  // namespace lockstep::numerics::cuda
