#include "lockstep/ops/where.h"

#include <utility>

#include "ops/passes.h"

namespace lockstep::ops {
namespace {

Where& here() {
  thread_local Where place;
  return place;
}

}  // namespace

const Where& where() {
  return here();
}

std::string to_text(const Where& where) {
  const std::string module = where.module.empty() ? "an unnamed module" : where.module;
  switch (where.pass) {
    case Pass::kForward:
      return where.op.empty() ? module : module + ", after " + where.op;
    case Pass::kBackward:
      return module + ", backward of " + where.op;
    case Pass::kEngine:
      return "the autograd engine, " +
             (where.op.empty() ? std::string("before the first backward function")
                               : "after the backward of " + where.op + " in " + module);
  }
  return module;
}

Scope::Scope(std::string module)
    : outer_(std::exchange(here(), {where().pass, std::move(module), {}})) {}
Scope::~Scope() {
  here() = std::move(outer_);
}

void note_op(const char* name) {
  if (here().pass == Pass::kForward) here().op = name;
}

EnginePass::EnginePass() : outer_(std::exchange(here(), {Pass::kEngine, {}, {}})) {}
EnginePass::~EnginePass() {
  here() = std::move(outer_);
}

BackwardPass::BackwardPass(const std::string& module, const std::string& op)
    : outer_(std::exchange(here(), {Pass::kBackward, module, op})) {}
// The engine, which goes on, is "after" this op.
BackwardPass::~BackwardPass() {
  if (outer_.pass == Pass::kEngine) {
    here().pass = Pass::kEngine;
  } else {
    here() = std::move(outer_);
  }
}

}  // namespace lockstep::ops
