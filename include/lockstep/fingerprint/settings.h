// What native numerics need of the environment variables that LibTorch's kernels listen to.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace lockstep::fingerprint {

struct Setting {
  std::string_view variable;
  std::vector<std::string_view> allowed;  // the first is set where the variable is not
  std::string_view why;
};

std::span<const Setting> native_settings();

// Sets what is unset, LibTorch's own switches too (ops::prepare_native): before the first native
// kernel of the process, once. Throws Error(kEnvironment) naming the variable if one contradicts,
// or this LibTorch has no kernels for this thread's device.
void require_native_settings();

}  // namespace lockstep::fingerprint
