#include "support/far_device/movement.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/IListRef.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/Allocator.h>
#include <torch/library.h>

#include <cstring>

#include "lockstep/ops/where.h"
#include "support/far_device/memory.h"

namespace lockstep::testing::far {
namespace {

using at::Tensor;

constexpr c10::DispatchKey kKey = c10::DispatchKey::PrivateUse1;

c10::Allocator* allocator() {
  return c10::GetAllocator(c10::DeviceType::PrivateUse1);
}

void check_options(std::optional<c10::Layout> layout, std::optional<bool> pinned) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      c10::layout_or_default(layout) == c10::kStrided && !pinned.value_or(false),
      "the far device has strided tensors only, none pinned");
}

Tensor empty(c10::IntArrayRef sizes, std::optional<at::ScalarType> type,
             std::optional<c10::Layout> layout, std::optional<c10::Device>,
             std::optional<bool> pinned, std::optional<c10::MemoryFormat> format) {
  check_options(layout, pinned);
  return at::detail::empty_generic(sizes, allocator(), c10::DispatchKeySet(kKey),
                                   c10::dtype_or_default(type), format);
}

Tensor empty_strided(c10::IntArrayRef sizes, c10::IntArrayRef strides,
                     std::optional<at::ScalarType> type, std::optional<c10::Layout> layout,
                     std::optional<c10::Device>, std::optional<bool> pinned) {
  check_options(layout, pinned);
  return at::detail::empty_strided_generic(sizes, strides, allocator(), c10::DispatchKeySet(kKey),
                                           c10::dtype_or_default(type));
}

template <class T>
T* for_kernels(const Tensor& x, T* data) {
  return x.is_privateuseone() ? near(data) : data;
}

// Strides in bytes of `x`, seen in the shape `sizes`: stride 0 where it is repeated.
std::vector<std::int64_t> repeated_strides(const Tensor& x, c10::IntArrayRef sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 0);
  TORCH_CHECK(x.sizes().size() <= sizes.size(), "cannot copy ", x.sizes(), " to ", sizes);
  const std::size_t missing = sizes.size() - x.sizes().size();
  for (std::size_t d = missing; d < sizes.size(); ++d) {
    const std::int64_t size = x.sizes()[d - missing];
    TORCH_CHECK(size == sizes[d] || size == 1, "cannot copy ", x.sizes(), " to ", sizes);
    if (size == sizes[d])
      strides[d] = x.strides()[d - missing] * static_cast<std::int64_t>(x.itemsize());
  }
  return strides;
}

struct Elements {
  c10::IntArrayRef sizes;
  std::vector<std::int64_t> to, from;  // strides in bytes
  std::size_t item;
};

void copy_elements(const Elements& all, std::size_t dimension, char* to, const char* from) {
  if (dimension == all.sizes.size()) {
    std::memcpy(to, from, all.item);
    return;
  }
  for (std::int64_t i = 0; i < all.sizes[dimension]; ++i) {
    copy_elements(all, dimension + 1, to, from);
    to += all.to[dimension];
    from += all.from[dimension];
  }
}

// Between far tensors, or between one and the host; both of one type.
void copy(const Tensor& to, const Tensor& from) {
  TORCH_CHECK_NOT_IMPLEMENTED(to.scalar_type() == from.scalar_type(),
                              "the far device copies values of one type, not ", from.scalar_type(),
                              " to ", to.scalar_type());
  for (const Tensor& x : {to, from}) {
    TORCH_CHECK_NOT_IMPLEMENTED(x.is_privateuseone() || x.is_cpu(),
                                "the far device does not copy from or to ", x.device());
    TORCH_CHECK_NOT_IMPLEMENTED(!x.is_conj() && !x.is_neg(),
                                "the far device copies bytes as they are");
  }
  const Elements all{to.sizes(), repeated_strides(to, to.sizes()),
                     repeated_strides(from, to.sizes()), to.itemsize()};
  if (to.numel() == 0) return;
  char* const target = for_kernels(to, static_cast<char*>(to.mutable_data_ptr()));
  const char* const source = for_kernels(from, static_cast<const char*>(from.const_data_ptr()));
  if (to.is_contiguous() && from.is_contiguous() && to.numel() == from.numel()) {
    std::memmove(target, source, to.nbytes());
  } else {
    copy_elements(all, 0, target, source);
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
  Tensor all = at::detail::empty_generic(sizes, allocator(), c10::DispatchKeySet(kKey),
                                         parts[0].scalar_type(), std::nullopt);
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
      false, op.schema().operator_name(), " on the far device, in ", ops::to_text(ops::where()),
      ": of LibTorch's operators it has those that allocate, view and copy");
}

}  // namespace

void register_movement() {
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

}  // namespace lockstep::testing::far
