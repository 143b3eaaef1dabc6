// Nearest-neighbour up-sampling (resample.h).
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/host_device.h"

namespace lockstep::numerics::spec {

// The output positions whose source is `source` begin here: the smallest o with o * from / to >=
// source.
LOCKSTEP_HD static inline std::int64_t first_output(std::int64_t source, std::int64_t from,
                                                    std::int64_t to) {
  return (source * to + from - 1) / from;
}

}  // namespace lockstep::numerics::spec
