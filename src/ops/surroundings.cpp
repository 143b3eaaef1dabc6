#include "ops/surroundings.h"

namespace lockstep::ops {
namespace {

// Whose surroundings this thread has, if not its own.
thread_local std::thread::id origin;

}  // namespace

Surroundings surroundings() {
  const bool own = origin == std::thread::id();
  return {own ? std::this_thread::get_id() : origin,
          thread_guard(),
          thread_listener(),
          thread_numerics(),
          thread_sequence(),
          thread_place()};
}

SurroundingsScope::SurroundingsScope(const Surroundings& surroundings)
    : outer_(ops::surroundings()), elsewhere_(surroundings.thread != outer_.thread) {
  if (elsewhere_) enter(surroundings);
}

SurroundingsScope::~SurroundingsScope() {
  if (elsewhere_) enter(outer_);
}

void SurroundingsScope::enter(const Surroundings& surroundings) {
  origin = surroundings.thread;
  if (origin == std::this_thread::get_id()) origin = {};
  thread_guard() = surroundings.guard;
  thread_listener() = surroundings.listener;
  thread_numerics() = surroundings.numerics;
  thread_sequence() = surroundings.sequence;
  thread_place() = surroundings.place;
}

}  // namespace lockstep::ops
