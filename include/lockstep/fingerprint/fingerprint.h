// What the machine is: versions, CPU, GPU, environment variables, and the numeric self-test. Kept
// for each attempt of a run, compared between nodes; never part of state or ledger.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lockstep/ops/numerics.h"

namespace lockstep::fingerprint {

// Ordered facts, "glibc" -> "2.36"; hashes of kernels as "portable.conv2d", "native.conv2d".
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

// Which kernels are tried: none, for facts alone; native ones load and set up LibTorch's libraries.
// Where a setting forbids them (settings.h), the fact "native" says which.
enum class Kernels { kNone, kPortable, kBoth };

// Looks at this machine and process; `precision`: of native products. The one place besides the
// command line that reads the environment.
Fingerprint take(Kernels kernels = Kernels::kPortable,
                 ops::Precision precision = ops::Precision::kFloat32);

// "" if there is no such fact.
std::string fact(const Fingerprint& fingerprint, const std::string& name);

// One JSON object, keys in order, two spaces of indentation.
std::string to_json(const Fingerprint& fingerprint);
// Throws Error(kCannotCompare) if the text is not one.
Fingerprint from_json(const std::string& text);

// Throws Error(kEnvironment), with the reason, if native kernels were to be tried and cannot be:
// without their hashes nobody could tell whether a run goes on where bits are the same.
void require_native(const Fingerprint& fingerprint);

// Throws Error(kCannotCompare) if it does not have the hash of every portable kernel of this
// version, of no other, and the self_test that belongs to them: nothing is known of a machine
// without them.
void require_self_test(const Fingerprint& fingerprint);

}  // namespace lockstep::fingerprint
