// Private: the inner loop of the leaf hash, in every way that this CPU can run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lockstep/hash/leaf.h"

namespace lockstep::hash {

// Adds `pairs` pairs of words, those of `key` on, to the sums of `leaf`.
using AddPairs = void (*)(const std::byte* data, const std::uint32_t* key, std::size_t pairs,
                          Leaf& leaf);

struct WayToAddPairs {
  const char* name;
  AddPairs add;
};
// The portable one first, the fastest last.
std::vector<WayToAddPairs> ways_to_add_pairs();

}  // namespace lockstep::hash
