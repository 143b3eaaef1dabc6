#include "ops/gpu_movement.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/IListRef.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/Allocator.h>
#include <torch/library.h>

#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/ops/where.h"

namespace lockstep::ops {
namespace {

using at::Tensor;

constexpr c10::DispatchKey kKey = c10::DispatchKey::PrivateUse1;

Tensor empty_as(c10::IntArrayRef sizes, at::ScalarType type,
                std::optional<c10::MemoryFormat> format = {}) {
  return at::detail::empty_generic(sizes, c10::GetAllocator(c10::DeviceType::PrivateUse1),
                                   c10::DispatchKeySet(kKey), type, format);
}

void check_options(std::optional<c10::Layout> layout, std::optional<bool> pinned) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      c10::layout_or_default(layout) == c10::kStrided && !pinned.value_or(false),
      "the GPU has strided tensors only, none pinned");
}

Tensor empty(c10::IntArrayRef sizes, std::optional<at::ScalarType> type,
             std::optional<c10::Layout> layout, std::optional<c10::Device>,
             std::optional<bool> pinned, std::optional<c10::MemoryFormat> format) {
  check_options(layout, pinned);
  return empty_as(sizes, c10::dtype_or_default(type), format);
}

Tensor empty_strided(c10::IntArrayRef sizes, c10::IntArrayRef strides,
                     std::optional<at::ScalarType> type, std::optional<c10::Layout> layout,
                     std::optional<c10::Device>, std::optional<bool> pinned) {
  check_options(layout, pinned);
  return at::detail::empty_strided_generic(sizes, strides,
                                           c10::GetAllocator(c10::DeviceType::PrivateUse1),
                                           c10::DispatchKeySet(kKey), c10::dtype_or_default(type));
}

// Both there, of the same sizes.
void copy_within(const Tensor& to, const Tensor& from) {
  if (to.is_contiguous() && from.is_contiguous()) {
    gpu_memory().copy(to.nbytes(), from.const_data_ptr(), to.mutable_data_ptr());
    return;
  }
  gpu_memory().copy_items({to.itemsize(), to.sizes(), to.mutable_data_ptr(), to.strides(),
                           from.const_data_ptr(), from.strides()});
}

Tensor contiguous_there(const Tensor& x) {
  if (x.is_contiguous()) return x;
  Tensor y = empty_as(x.sizes(), x.scalar_type());
  copy_within(y, x);
  return y;
}

// Between tensors of the GPU, or between one and the host; both of one type.
void copy(const Tensor& to, const Tensor& source) {
  TORCH_CHECK_NOT_IMPLEMENTED(to.scalar_type() == source.scalar_type(),
                              "the GPU copies values of one type, not ", source.scalar_type(),
                              " to ", to.scalar_type());
  for (const Tensor& x : {to, source}) {
    TORCH_CHECK_NOT_IMPLEMENTED(x.is_privateuseone() || x.is_cpu(),
                                "the GPU does not copy from or to ", x.device());
    TORCH_CHECK_NOT_IMPLEMENTED(!x.is_conj() && !x.is_neg(), "the GPU copies bytes as they are");
  }
  const Tensor from = source.expand(to.sizes());
  if (to.numel() == 0) return;
  if (to.is_privateuseone() && from.is_privateuseone()) {
    copy_within(to, from);
  } else if (to.is_privateuseone()) {
    const Tensor there = to.is_contiguous() ? to : empty_as(to.sizes(), to.scalar_type());
    const Tensor here = from.contiguous();
    gpu_memory().from_host(here.nbytes(), here.const_data_ptr(), there.mutable_data_ptr());
    if (!to.is_contiguous()) copy_within(to, there);
  } else {
    const Tensor there = contiguous_there(from);
    const Tensor here =
        to.is_contiguous() ? to : Tensor(at::detail::empty_cpu(to.sizes(), to.scalar_type()));
    gpu_memory().to_host(here.nbytes(), there.const_data_ptr(), here.mutable_data_ptr());
    if (!to.is_contiguous()) to.copy_(here);
  }
}

Tensor& copy_(Tensor& to, const Tensor& from, bool) {
  if (!to.is_same(from)) copy(to, from);
  return to;
}

// LibTorch skips tensors of shape [0] here, for old programs; so do we.
Tensor cat(const at::ITensorListRef& list, std::int64_t dim) {
  std::vector<Tensor> parts;
  for (const Tensor& part : list) {
    if (part.dim() != 1 || part.numel() != 0) parts.push_back(part);
  }
  if (parts.empty()) return list.front().alias();
  dim = c10::maybe_wrap_dim(dim, parts[0].dim());
  std::vector<std::int64_t> sizes = parts[0].sizes().vec();
  std::int64_t& joined = sizes[static_cast<std::size_t>(dim)] = 0;
  for (const Tensor& part : parts) {
    TORCH_CHECK(part.dim() == parts[0].dim(), "cannot join ", part.sizes(), " to ", sizes);
    joined += part.size(dim);
  }
  Tensor all = empty_as(sizes, parts[0].scalar_type());
  std::int64_t at = 0;
  for (const Tensor& part : parts) {
    const Tensor place = all.narrow(dim, at, part.size(dim));
    TORCH_CHECK(place.sizes() == part.sizes(), "cannot join ", part.sizes(), " to ", sizes);
    copy(place, part);
    at += part.size(dim);
  }
  return all;
}

void refuse(const c10::OperatorHandle& op, torch::jit::Stack*) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, op.schema().operator_name(), " on the GPU, in ", to_text(where()),
      ": of LibTorch's operators its tensors have those that allocate, view and copy");
}

}  // namespace

void register_gpu_movement() {
  // What a library object registers ends with it. Views are LibTorch's own arithmetic on shapes;
  // they read no element.
  static auto* const all = new torch::Library(torch::Library::IMPL, "_", kKey, __FILE__, __LINE__);
  all->fallback(torch::CppFunction::makeFromBoxedFunction<&refuse>());
  static auto* const aten =
      new torch::Library(torch::Library::IMPL, "aten", kKey, __FILE__, __LINE__);
  aten->impl("empty.memory_format", empty);
  aten->impl("empty_strided", empty_strided);
  aten->impl("as_strided", at::native::as_strided_tensorimpl);
  aten->impl("view", at::native::view);
  aten->impl("_reshape_alias", at::native::_reshape_alias);
  aten->impl("copy_", copy_);
  aten->impl("cat", cat);
}

}  // namespace lockstep::ops
