// What the machine is: versions, CPU, environment variables, and a numeric self-test. Kept for each
// attempt of a run, compared between nodes; never part of state or ledger.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockstep/hash/sha256.h"

namespace lockstep::fingerprint {

// Ordered facts, "glibc" -> "2.36".
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

// Looks at this machine and process. The one place besides the command line that reads the
// environment.
Fingerprint take();

// One JSON object, keys in order, two spaces of indentation.
std::string to_json(const Fingerprint& fingerprint);

// One hash over a small battery of portable kernels (products, convolutions, functions, random
// numbers): the same on every machine, or the machine computes wrongly. About 50 ms.
hash::Digest self_test();
// What it must be: changes only with the arithmetic itself, in a commit that raises
// recipe::kSemantics.
inline constexpr std::string_view kSelfTest =
    "e98c3c3e21a0dbf5345b21249468dc68138205c9f0ead7a5051ea5a803574b57";

}  // namespace lockstep::fingerprint
