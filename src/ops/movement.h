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

// What makes this call of an allowed operator more than movement: tensors of different types (a
// conversion rounds) or elsewhere than in the CPU's memory. Empty if nothing does.
std::string conversion_in(c10::ArrayRef<const c10::IValue> arguments);

}  // namespace lockstep::ops
