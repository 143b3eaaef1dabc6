// The operators of LibTorch that the far device has: what allocates, views and copies. device()
// registers them.
#pragma once

namespace lockstep::testing::far {

// Once a process. Views that LibTorch composes of as_strided and view, and copies that it composes
// of empty and copy_ (clone, contiguous, reshape, …) need no kernel here.
void register_movement();

}  // namespace lockstep::testing::far
