// Work split over threads. The split may never be seen in a result: bodies write disjoint outputs,
// and no sum crosses a piece.
//
// Every piece runs with IEEE round-to-nearest and subnormals kept: the floating-point control
// register is checked at the start of each piece (a foreign library may have changed it) and a
// wrong mode is Error(kEnvironment) naming it.
#pragma once

#include <cstdint>
#include <functional>

namespace lockstep::numerics {

// Threads for kernels called from the calling thread (each rank of comm/local sets its own). 1 by
// default. `count` >= 1. Never affects bits.
void set_threads(int count);
int threads();

// While it is set, kernels of this process return and write nothing (ops/memory.h). Off by
// default.
void set_idle(bool idle);

// Calls body(begin, end) on pieces that cover [0, n) once; pieces other than the last are multiples
// of `grain`. Runs on the calling thread alone when n <= grain. Rethrows the first exception.
void parallel_for(std::int64_t n, std::int64_t grain,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body);

}  // namespace lockstep::numerics
