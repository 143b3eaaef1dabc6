// What native numerics need of the environment variables that LibTorch's kernels listen to.
#pragma once

#include <string_view>
#include <vector>

#include "lockstep/ops/numerics.h"

namespace lockstep::fingerprint {

struct Setting {
  std::string_view variable;
  // The first is set where the variable is not; "": it stays unset.
  std::vector<std::string_view> allowed;
  std::string_view why;
};

std::vector<Setting> native_settings(ops::Precision precision);

// Sets what is unset, LibTorch's own switches too (ops::prepare_native): before the first native
// kernel of the process, once: a process computes with TF32 or without. Throws Error(kEnvironment)
// naming the variable if one contradicts, if the process has done the other before, or if this
// LibTorch has no kernels for this thread's device.
void require_native_settings(ops::Precision precision);

}  // namespace lockstep::fingerprint
