// Inside ops: what LibTorch throws, and what it only warns of, as our errors.
#pragma once

#include <functional>

namespace lockstep::ops::native {

// Calls LibTorch, which has one exception for everything. Throws std::bad_alloc where the host's
// memory or the GPU's is lacking, also if the call went on without (native_memory.h);
// Error(kEnvironment) where the GPU failed, or LibTorch went on with another kernel than that of
// every other time, whose bits may differ; Error(kBug) for the rest.
void with_our_errors(const std::function<void()>& call);

}  // namespace lockstep::ops::native
