// The emulated GPU reaches all of the host's memory. Alone, so that a program can bring another.
#include "support/gpu/reachable.h"

namespace lockstep::test::gpu {

Reachable::Reachable(void* pages, std::size_t) : pages_(pages) {}
Reachable::~Reachable() = default;

}  // namespace lockstep::test::gpu
