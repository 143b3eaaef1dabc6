#include "ops/native.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/add.h>
#include <ATen/ops/from_blob.h>
#include <ATen/record_function.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/ops/memory.h"
#include "lockstep/ops/numerics.h"
#include "lockstep/ops/record.h"
#include "ops/native_errors.h"
#include "ops/native_memory.h"
#include "ops/surroundings.h"

namespace lockstep::ops {
namespace {

// LibTorch's device for its kernels on this thread's tensors.
at::Device their_device() {
  if (tensors_device().is_cpu()) return at::kCPU;
  static const at::Device device(gpu_memory().foreign_device());
  return device;
}

// A tensor of ours on that device.
Tensor theirs(const Tensor& x) {
  if (!x.is_privateuseone()) return x;
  return at::from_blob(
      gpu_memory().foreign(x.data_ptr()), x.sizes(), x.strides(),
      [x](void*) {},  // keeps its memory
      x.options().device(their_device()), their_device());
}

// What their kernels made, for ours.
Tensor ours(const Tensor& x) {
  if (x.device() == tensors_device()) return x;
  const Tensor copy = empty_on(tensors_device(), x.sizes(), x.scalar_type());
  theirs(copy).copy_(x);
  return copy;
}

// How a thread calls LibTorch's kernels.
class Foreign {
 public:
  Foreign() {
    thread_local const bool single = [] {
      at::set_num_threads(1);
      return true;
    }();
    static_cast<void>(single);
    // CUDA knows a GPU for each thread, for our kernels as well: it stays this one.
    const at::Device there = their_device();
    if (!there.is_cpu()) c10::impl::VirtualGuardImpl(there.type()).setDevice(there);
  }

 private:
  at::NoGradGuard no_history_;
  at::RecordFunctionGuard unobserved_{false};
};

template <class Call>
void foreign(const Call& call) {
  native::with_our_errors([&] {
    const Foreign scope;
    call();
  });
}

}  // namespace

Numerics& thread_numerics() {
  thread_local Numerics numerics;
  return numerics;
}

const Numerics& numerics_in_use() {
  return thread_numerics();
}

NumericsScope::NumericsScope(const Numerics& numerics)
    : outer_(std::exchange(thread_numerics(), numerics)) {}
NumericsScope::~NumericsScope() {
  thread_numerics() = outer_;
}

void prepare_native(Precision precision, bool fill) {
  const at::Device there = their_device();
  if (there.is_cuda()) {
    if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr)
      throw Error(Code::kEnvironment,
                  std::string("native numerics on a GPU need LibTorch for CUDA: ") + dlerror(),
                  "use the package beside PyTorch, --device cpu, or portable numerics");
    foreign([&] { at::globalContext().lazyInitDevice(there.type()); });
  }
  native::prepare_on(there, precision, fill);
}

namespace native {

void prepare_on(const at::Device& there, Precision precision, bool fill) {
  if (there.is_cuda()) watch_allocator(c10::getDeviceAllocator(there.type()), there.index());
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  context.setDeterministicFillUninitializedMemory(fill);
  context.setDeterministicCuDNN(true);
  context.setBenchmarkCuDNN(false);
  context.setDeterministicMkldnn(true);
  context.setFloat32MatmulPrecision("highest");
  // Not on a CPU: the switch of cuBLAS also is that of oneDNN in some versions.
  const bool tf32 = precision == Precision::kTf32 && there.is_cuda();
  if (tf32) context.setAllowTF32CuBLAS(true);
  context.setAllowTF32CuDNN(tf32);
  // Sums of bfloat16 products in binary32.
  context.setAllowBF16ReductionCuBLAS(false);
}

// cuBLAS is told how far a GPU's operands are aligned, up to this
// (aten/src/ATen/cuda/CUDABlas.cpp, _getAlignment), and may choose by it.
std::uintptr_t alignment_on(const at::Device& there) {
  return there.is_cpu() ? 64 : 256;
}

namespace {

at::ScalarType factor_type() {
  return rounds() ? at::kBFloat16 : at::kFloat;
}

// Where memory is counted, so much as long as this is there.
Tensor counted(std::int64_t bytes) {
  return counted_threads() > 0 ? empty_on(tensors_device(), {bytes}, at::kByte) : Tensor();
}

// Of work that treats each element by itself: in a lane's pieces where the host's threads share
// them, at once where one thread calls a GPU.
void for_each_part(std::int64_t samples, const std::function<void(const Piece&)>& body) {
  if (!on_gpu()) return for_each_piece(samples, 0, body);
  if (counted_threads() > 0 || samples == 0) return;
  foreign([&] { body({0, 0, samples, factor_type()}); });
}

}  // namespace

Tensor aligned(const Tensor& x) {
  const Tensor whole = theirs(x.contiguous());
  const auto address = reinterpret_cast<std::uintptr_t>(whole.const_data_ptr());
  return address % alignment_on(whole.device()) == 0 ? whole : whole.clone();
}

Tensor Piece::of(const Tensor& x) const {
  return aligned(x.narrow(0, first, count));
}

Tensor Piece::factor(const Tensor& x) const {
  return of(x).to(products);
}

void Piece::put(const Tensor& values, Tensor& x) const {
  theirs(x.narrow(0, first, count)).copy_(values);
}

void Piece::put_sum(const Tensor& values, const Tensor& more, Tensor& x) const {
  Tensor rows = theirs(x.narrow(0, first, count));
  at::add_out(rows, values, theirs(more));
}

std::int64_t bytes_of_sample(const Tensor& x) {
  const std::int64_t values = c10::multiply_integers(x.sizes().slice(1));
  return values * static_cast<std::int64_t>(c10::elementSize(factor_type()));
}

void for_each_piece(std::int64_t samples, std::int64_t temporaries,
                    const std::function<void(const Piece&)>& body) {
  const std::int64_t each = numerics_in_use().samples;
  const at::ScalarType products = factor_type();
  LOCKSTEP_ASSERT(samples % each == 0, "an op's samples do not divide into lanes");
  if (const int threads = counted_threads(); threads > 0) {
    counted(std::min(samples, each * threads) * temporaries);
    return;
  }
  device().parallel_for(samples / each, 1, [&](std::int64_t begin, std::int64_t end) {
    foreign([&] {
      for (std::int64_t i = begin; i < end; ++i) body({i, i * each, each, products});
    });
  });
}

Tensor rounded(const Tensor& x) {
  Tensor y = empty_on(tensors_device(), x.sizes(), at::kBFloat16);
  for_each_part(x.size(0), [&](const Piece& piece) { piece.put(piece.of(x), y); });
  return y;
}

Tensor joined(const SideBySide& x) {
  std::vector<std::int64_t> sizes = x.left.sizes().vec();
  sizes.back() = x.channels();
  Tensor y = empty_on(tensors_device(), sizes, factor_type());
  const std::int64_t cut = x.left.size(-1), rest = x.right.size(-1);
  Tensor left = y.narrow(-1, 0, cut), right = y.narrow(-1, cut, rest);
  for_each_part(y.size(0), [&](const Piece& piece) {
    piece.put(piece.of(bare(x.left)), left);
    piece.put(piece.of(bare(x.right)), right);
  });
  return y;
}

Slices::Slices(const LaneBlocks& lanes, const Tensor& parameter,
               const std::function<Tensor(const Tensor&)>& prepare) {
  if (!parameter.defined()) {
    slices_.emplace_back();
    return;
  }
  LOCKSTEP_ASSERT(parameter.size(0) == lanes.partials());
  const std::int64_t different = parameter.stride(0) == 0 ? 1 : lanes.partials();
  if (counted_threads() > 0) {
    slices_.push_back(counted(different * bytes_of_sample(parameter)));
    return;
  }
  foreign([&] {
    for (std::int64_t p = 0; p < different; ++p) {
      slices_.push_back(prepare(aligned(bare(parameter).select(0, p)).to(factor_type())));
      samples_.push_back(lanes.lanes[static_cast<std::size_t>(p)] * lanes.samples_per_lane);
    }
  });
}

const Tensor& Slices::of(const Piece& piece) const {
  std::size_t p = 0;
  for (std::int64_t end = 0; slices_.size() > 1 && (end += samples_[p]) <= piece.first;) ++p;
  return slices_[p];
}

Tensor tree_over_lanes(const LaneBlocks& lanes, at::IntArrayRef sizes_of_row,
                       const std::vector<Tensor>& rows) {
  LOCKSTEP_ASSERT(static_cast<std::int64_t>(rows.size()) == lanes.lane_count(),
                  "a native kernel sees a lane at a time");
  std::vector<std::int64_t> sizes = sizes_of_row.vec();
  const std::int64_t width = c10::multiply_integers(sizes);
  sizes.insert(sizes.begin(), lanes.partials());
  Tensor partials = ops::empty(sizes);
  if (counted_threads() > 0) {
    counted(lanes.lane_count() * width * static_cast<std::int64_t>(sizeof(float)));
    return partials;
  }
  if (lanes.lane_count() == lanes.partials()) {  // a tree of one
    foreign([&] {
      for (std::int64_t p = 0; p < lanes.partials(); ++p)
        theirs(partials.select(0, p)).copy_(rows[static_cast<std::size_t>(p)]);
    });
    return partials;
  }
  std::vector<Tensor> held;
  std::vector<const float*> pointers;
  foreign([&] {
    for (const Tensor& row : rows) held.push_back(ours(row));
  });
  for (const Tensor& row : held) pointers.push_back(read(row));
  const float* const* at = pointers.data();
  for (std::int64_t p = 0; p < lanes.partials(); ++p) {
    const std::int64_t count = lanes.lanes[static_cast<std::size_t>(p)];
    device().tree_sum(at, count, width, write(partials) + p * width);
    at += count;
  }
  return partials;
}

}  // namespace native
}  // namespace lockstep::ops
