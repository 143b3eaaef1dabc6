#include "lockstep/ops/trace.h"

#include <utility>

#include "ops/surroundings.h"

namespace lockstep::ops {

const Listener*& thread_listener() {
  thread_local const Listener* listener = nullptr;
  return listener;
}

TraceScope::TraceScope(Listener listener)
    : listener_(std::move(listener)), outer_(std::exchange(thread_listener(), &listener_)) {}
TraceScope::~TraceScope() {
  thread_listener() = outer_;
}

bool traced() {
  return thread_listener() != nullptr;
}

void show(const char* op, at::TensorList inputs, at::TensorList outputs) {
  if (const Listener* listener = thread_listener()) (*listener)(op, inputs, outputs);
}

}  // namespace lockstep::ops
