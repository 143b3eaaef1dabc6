// Places where faults are put in: LOCKSTEP_STRIKE(place, group, floats, count). In the product this
// is nothing. A program compiled with LOCKSTEP_INJECT (tests/inject) brings an `inject_fault` that
// flips bits.
#pragma once

#ifdef LOCKSTEP_INJECT
#include <cstdint>

namespace lockstep::comm {
class Group;
}

namespace lockstep::inject {

enum class Place {
  kGradient,    // a rank's partials, before anything is known of them
  kArrived,     // another rank's partials, as received
  kGathered,    // another rank's sums, as received
  kStatistics,  // another rank's batch statistics, as received
  kSum,         // a gradient's sum, before the update
  kHeld,        // what an update will read of the state, before it does
  kState,       // a tensor of the state after the updates, before the digest
};
void inject_fault(Place place, const comm::Group& group, float* floats, std::int64_t count);

}  // namespace lockstep::inject

#define LOCKSTEP_STRIKE(place, group, floats, count) \
  ::lockstep::inject::inject_fault(::lockstep::inject::Place::place, group, floats, count)
#else
#define LOCKSTEP_STRIKE(place, group, floats, count) static_cast<void>(0)
#endif
