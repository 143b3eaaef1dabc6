#include "ops/surroundings.h"

namespace lockstep::ops {
namespace {

Surroundings own() {
  return {std::this_thread::get_id(), &thread_guard(),    &thread_listener(),
          &thread_numerics(),         &thread_sequence(), &thread_place()};
}

// What this thread has entered; null: nothing.
thread_local const Surroundings* entered = nullptr;

}  // namespace

Surroundings surroundings() {
  return entered != nullptr ? *entered : own();
}

SurroundingsScope::SurroundingsScope(const Surroundings& surroundings)
    : before_(entered),
      entered_(surroundings),
      elsewhere_(surroundings.thread != ops::surroundings().thread),
      kept_(values_of(own())) {
  if (!elsewhere_) return;
  entered = &entered_;
  set(values_of(entered_));
}

SurroundingsScope::~SurroundingsScope() {
  if (!elsewhere_) return;
  set(kept_);
  entered = before_;
}

SurroundingsScope::Values SurroundingsScope::values_of(const Surroundings& surroundings) {
  return {*surroundings.guard, *surroundings.listener, *surroundings.numerics,
          *surroundings.sequence, *surroundings.place};
}

void SurroundingsScope::set(const Values& values) {
  thread_guard() = values.guard;
  thread_listener() = values.listener;
  thread_numerics() = values.numerics;
  thread_sequence() = values.sequence;
  thread_place() = values.place;
}

}  // namespace lockstep::ops
