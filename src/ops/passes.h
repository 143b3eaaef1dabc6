// Inside ops: what record.cpp tells where.cpp about the passes.
#pragma once

#include <string>

#include "lockstep/ops/where.h"

namespace lockstep::ops {

// One of our ops ran forward.
void note_op(const char* name);

// Lives while the autograd engine runs.
class EnginePass {
 public:
  EnginePass();
  ~EnginePass();
  EnginePass(const EnginePass&) = delete;
  EnginePass& operator=(const EnginePass&) = delete;

 private:
  Where outer_;
};

// Lives while the backward function of `op`, recorded by code of `module`, runs.
class BackwardPass {
 public:
  BackwardPass(const std::string& module, const std::string& op);
  ~BackwardPass();
  BackwardPass(const BackwardPass&) = delete;
  BackwardPass& operator=(const BackwardPass&) = delete;

 private:
  Where outer_;
};

}  // namespace lockstep::ops
