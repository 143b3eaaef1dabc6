// What pinned.cpp asks of the GPU (real_gpu.cpp).
#pragma once

#include <cstddef>

namespace lockstep::test::gpu {

// Why there is no GPU, or null. Called first.
const char* find_gpu();
// Pages of the host that it reaches from now on; null: there are no more.
void* pinned_pages(std::size_t bytes);

}  // namespace lockstep::test::gpu
