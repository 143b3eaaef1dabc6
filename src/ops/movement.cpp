#include "ops/movement.h"

#include <algorithm>
#include <array>

namespace lockstep::ops {
namespace {

constexpr std::string_view kAllocates = "allocates, values undefined until ours are written";
constexpr std::string_view kViews = "the same memory, seen otherwise";
constexpr std::string_view kCopies = "copies values of one type, bit by bit";
constexpr std::string_view kViewsOrCopies = "a view, or a copy of values of one type";

constexpr std::array kMovements = {
    Movement{"aten::_reshape_alias", kViews},
    Movement{"aten::_unsafe_view", kViews},
    Movement{"aten::alias", kViews},
    Movement{"aten::as_strided", kViews},
    Movement{"aten::cat", kCopies},
    Movement{"aten::chunk", kViews},
    Movement{"aten::clone", kCopies},
    Movement{"aten::contiguous", kViewsOrCopies},
    Movement{"aten::copy_", kCopies},
    Movement{"aten::detach", kViews},
    Movement{"aten::empty", kAllocates},
    Movement{"aten::empty_like", kAllocates},
    Movement{"aten::empty_strided", kAllocates},
    Movement{"aten::expand", kViews},
    Movement{"aten::expand_as", kViews},
    Movement{"aten::flatten", kViewsOrCopies},
    Movement{"aten::narrow", kViews},
    Movement{"aten::permute", kViews},
    Movement{"aten::reshape", kViewsOrCopies},
    Movement{"aten::select", kViews},
    Movement{"aten::slice", kViews},
    Movement{"aten::split", kViews},
    Movement{"aten::split_with_sizes", kViews},
    Movement{"aten::squeeze", kViews},
    Movement{"aten::t", kViews},
    Movement{"aten::transpose", kViews},
    Movement{"aten::unsqueeze", kViews},
    Movement{"aten::view", kViews},
    Movement{"aten::view_as", kViews},
};

// Compares with the first tensor that was seen.
class OneType {
 public:
  void see(const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    if (device_ && *device_ != tensor.device())
      found = "between " + device_->str() + " and " + tensor.device().str();
    device_ = tensor.device();
    if (type_ && *type_ != tensor.scalar_type()) {
      found = std::string("between ") + c10::toString(*type_) + " and " +
              c10::toString(tensor.scalar_type());
    }
    type_ = tensor.scalar_type();
  }
  std::string found;

 private:
  std::optional<at::ScalarType> type_;
  std::optional<at::Device> device_;
};

}  // namespace

std::span<const Movement> movements() {
  return kMovements;
}

bool is_movement(std::string_view op) {
  const auto at =
      std::lower_bound(kMovements.begin(), kMovements.end(), op,
                       [](const Movement& m, std::string_view name) { return m.op < name; });
  return at != kMovements.end() && at->op == op;
}

std::string conversion_in(c10::ArrayRef<const c10::IValue> arguments) {
  OneType type;
  for (const c10::IValue& argument : arguments) {
    if (argument.isTensor()) {
      type.see(argument.toTensor());
    } else if (argument.isTensorList()) {
      for (const at::Tensor& tensor : argument.toTensorVector()) type.see(tensor);
    }
  }
  return type.found;
}

}  // namespace lockstep::ops
