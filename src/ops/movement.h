// What LibTorch may do in portable numerics.
#pragma once

#include <ATen/core/ivalue.h>

#include <span>
#include <string>
#include <string_view>

namespace lockstep::ops {

struct Movement {
  std::string_view op, why;  // why its bits are the same everywhere
};

// The whole allow list, sorted by name.
std::span<const Movement> movements();

bool is_movement(std::string_view op);

// Why this call of an allowed operator is more than movement: tensors of different types (a
// conversion rounds) or outside the CPU's memory. Empty if it is movement only.
std::string conversion_in(c10::ArrayRef<const c10::IValue> arguments);

}  // namespace lockstep::ops
