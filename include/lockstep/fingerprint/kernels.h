// The numeric self-test: a hash for every kernel, forward and backward, on fixed inputs. In
// portable numerics it is the same on every machine, or the machine computes wrongly; in native
// numerics it tells a difference of libraries or hardware that changes bits from one that only has
// another name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockstep/hash/sha256.h"
#include "lockstep/ops/numerics.h"

namespace lockstep::fingerprint {

using KernelHashes = std::vector<std::pair<std::string, hash::Digest>>;  // "conv2d" -> hash

// Every kernel of the device, once or more (numerics/device_kernels-inl.h). About 50 ms.
KernelHashes portable_kernels();
// The products, by LibTorch (ops/native.h); those in another precision than float32 have names of
// their own, "conv2d_bfloat16". Throws what require_native_settings does. About 50 ms, and what
// LibTorch's libraries need to start.
KernelHashes native_kernels(ops::Precision precision);
// What the precision appends to these names: nothing to those of float32.
std::string suffix(ops::Precision precision);

struct GoldenKernel {
  std::string_view name, hash;  // hexadecimal
};
// What portable_kernels must give: changes only with the arithmetic itself, in a commit that raises
// recipe::kSemantics, or with this list.
std::span<const GoldenKernel> golden_kernels();

// One hash over all of them.
hash::Digest self_test(const KernelHashes& kernels);

}  // namespace lockstep::fingerprint
