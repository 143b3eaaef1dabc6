// Names for random streams: every use of randomness in a run has a name of its own ("data/order",
// "init/down.0.conv.weight"), so adding one never moves another.
#pragma once

#include <cstdint>
#include <string_view>

#include "lockstep/numerics/philox.h"

namespace lockstep::numerics {

// The stream `name` of a run: key = first 8 bytes of SHA-256(seed as 8 little-endian bytes, then
// the bytes of name), read as two little-endian words; micro-step 0. Bits: seed, name.
Stream stream(std::uint64_t seed, std::string_view name);

}  // namespace lockstep::numerics
