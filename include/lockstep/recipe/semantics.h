// The number of our arithmetic.
#pragma once

namespace lockstep::recipe {

// Raised by one in every commit after which some recipe gives other bits than before: a changed
// order of operations, another random stream, a new default of a field that changes bits. It is
// part of the recipe id, so runs before and after never pass for the same. Never lowered, never
// raised for anything else. Golden ledgers (tests/golden) are renewed in the same commit.
inline constexpr int kSemantics = 1;

}  // namespace lockstep::recipe
