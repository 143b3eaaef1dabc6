#include "lockstep/ops/transfer.h"

#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>

#include <algorithm>
#include <new>
#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/ops/record.h"

namespace lockstep::ops {
namespace {

// A tensor that owns this memory of gpu:N; without the dispatcher, as empty_on.
Tensor tensor_of(void* memory, at::IntArrayRef sizes, at::Device place) {
  c10::Allocator* const allocator = c10::GetAllocator(place.type());
  c10::DataPtr data(memory, memory, allocator->raw_deleter(), place);
  const auto bytes = c10::multiply_integers(sizes) * static_cast<std::int64_t>(sizeof(float));
  Tensor x = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(c10::Storage::use_byte_size_t(), static_cast<std::size_t>(bytes),
                   std::move(data), allocator, /*resizable=*/false),
      c10::DispatchKeySet(c10::computeDispatchKey(at::kFloat, at::kStrided, place)),
      c10::scalarTypeToTypeMeta(at::kFloat));
  x.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return x;
}

}  // namespace

Upload::Upload(std::span<const float> values, at::IntArrayRef sizes, at::Device place)
    : sizes_(sizes.vec()), place_(place) {
  LOCKSTEP_ASSERT(std::ssize(values) == c10::multiply_integers(sizes));
  if (place.is_cpu()) {
    here_ = empty_on(place, sizes);
    std::ranges::copy(values, here_.mutable_data_ptr<float>());
  } else {
    on_its_way_ = gpu_memory().begin_from_host(values.size_bytes(), values.data());
  }
}

Tensor Upload::tensor() {
  if (place_.is_cpu()) return std::move(here_);
  return tensor_of(on_its_way_->take(), sizes_, place_);
}

Download::Download(const std::vector<Tensor>& tensors) {
  std::vector<ByteView> there;
  for (const Tensor& x : tensors) {
    LOCKSTEP_ASSERT(x.scalar_type() == at::kFloat && x.is_contiguous());
    if (x.is_cpu()) {
      here_.push_back(to_host(x));
      continue;
    }
    here_.push_back(empty_on(at::kCPU, x.sizes()));
    to_.push_back(here_.back().mutable_data_ptr<float>());
    there.push_back(
        std::as_bytes(std::span(x.const_data_ptr<float>(), static_cast<std::size_t>(x.numel()))));
  }
  if (there.empty()) return;
  try {
    on_its_way_ = gpu_memory().begin_to_host(there);
  } catch (const std::bad_alloc&) {
    for (std::size_t i = 0; i < there.size(); ++i)
      gpu_memory().to_host(there[i].size(), there[i].data(), to_[i]);
  }
}

std::vector<Tensor> Download::tensors() {
  if (on_its_way_) on_its_way_->finish(to_);
  on_its_way_.reset();
  return std::move(here_);
}

}  // namespace lockstep::ops
