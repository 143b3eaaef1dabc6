// One side of `bisect`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "child.h"
#include "container.h"
#include "lockstep/audit/trace.h"

namespace lockstep::cli {

// A run and what its steps are computed with, or a trace that was made elsewhere.
struct Side {
  std::string letter;  // "a" or "b"
  std::string source, program;
  std::vector<std::string> settings;  // "NAME=value"
  Container container;

  bool is_run() const;
};

// What both sides are computed with.
struct Computing {
  std::string data;
  int threads = 0;
};

// --env-a and so on.
void add_side(Command& command, Side& side, const std::string& letter);

// Throws Error(kUsage) for options that mean nothing for this side.
void require_sense(const Side& side);

// Traces the run's step by `lockstep trace` in the side's environment, into a file of `folder`.
// Throws Error(kCannotCompare) if the step could not be computed.
audit::Trace trace_of(const Side& side, const Computing& computing, std::int64_t step,
                      const TemporaryFolder& folder);
// The output of one of that step's operations: all its tensors, one after the other.
std::vector<float> values_of(const Side& side, const Computing& computing, std::int64_t step,
                             std::size_t operation, const TemporaryFolder& folder);

}  // namespace lockstep::cli
