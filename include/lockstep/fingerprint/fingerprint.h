// What the machine is: versions, CPU, environment variables, and a numeric self-test. Kept for each
// attempt of a run, compared between nodes; never part of state or ledger.
#pragma once

#include <string>
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

}  // namespace lockstep::fingerprint
