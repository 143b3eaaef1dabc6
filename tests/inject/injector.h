// Puts one fault into a run: which place, rank, step, and which bits. Programs that link this are
// compiled with LOCKSTEP_INJECT (lane/inject.h).
#pragma once

#include <cstdint>

#include "lockstep/lane/inject.h"

namespace lockstep::inject {

// kError: no bits; the place throws Error(kEnvironment), as a device that is lost does.
enum class Pattern { kOneBit, kSeveralBits, kWarp, kError };

struct Fault {
  Place place;
  std::int64_t rank = 0;
  std::int64_t step = 1;     // the step in which it strikes, from 1
  std::uint64_t choice = 0;  // which of the place's arrays in that step, modulo their number
  Pattern pattern = Pattern::kOneBit;
  std::uint64_t bits = 0;  // seed of element and bit numbers
};

// Flips bits; never to the same value.
void flip(Pattern pattern, std::uint64_t bits, float* floats, std::int64_t count);

// What happened.
struct Struck {
  bool happened = false;
  std::uint64_t number = 0;  // of the array among the place's arrays of the step
};

// Arms the fault for the ranks of this process; `arrays`: how many the place has in a step.
void arm(const Fault& fault, std::uint64_t arrays);
Struck disarm();
// A rank says which step it begins, from 1.
void begin_step(std::int64_t rank, std::int64_t step);
// How many arrays of each place one rank passes in a step; counted while nothing is armed.
std::uint64_t counted(Place place, std::int64_t rank);

}  // namespace lockstep::inject
