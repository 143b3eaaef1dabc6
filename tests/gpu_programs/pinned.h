// What pinned.cpp asks of the GPU (real_gpu.cpp).
#pragma once

#include <cstddef>

namespace lockstep::test::gpu {

// Why there is no GPU, or null. Called first.
const char* find_gpu();
// Pages of the host that it reaches from now on; null: there are no more.
void* pinned_pages(std::size_t bytes);

}  // namespace lockstep::test::gpu

// Of a GPU that is interpreted (support/ptx): from `start` on it reaches these bytes and no more; 0:
// none. Null on a real one, whose pages are the bound.
extern "C" [[gnu::weak]] void reach_only(void* start, std::size_t bytes);
