// One step with a digest for every op's inputs and outputs, forward and backward: what `bisect`
// compares. A trace is a file that can be taken to another machine.
//
// JSON lines: a header (run, step, the states on the way to it, numerics, environment), one line an
// op in the order of execution, an end (state and its tensors). A digest is the SHA-256 of shape
// and bytes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/core/ids.h"
#include "lockstep/fingerprint/fingerprint.h"
#include "lockstep/ledger/format.h"

namespace lockstep::audit {

struct TracedOp {
  std::string pass;                          // "forward" or "backward"
  std::string module;                        // "model/down0.block1.conv1", "objective/denoise"
  std::string of;                            // backward: the op whose gradient is computed
  std::string op;                            // "conv2d"; what was executed
  std::vector<std::string> inputs, outputs;  // hexadecimal; "" where there is no tensor

  std::string name() const;  // "model/hidden, backward of linear: linear_weight_grad"
};

struct Trace {
  ledger::Header run;
  std::string numerics;
  Step step;
  fingerprint::Fingerprint environment;
  Step started;                            // the checkpoint, or 0, that it was computed from
  std::vector<std::string> states_before;  // roots of the states of `started` to step - 1
  std::string state;                       // root of the step's own
  std::vector<TracedOp> ops;
  std::vector<std::pair<std::string, std::string>> tensors;  // of the new state, their digests
};

struct TraceOptions {
  std::filesystem::path folder;  // the run; never written to
  Step step{1};                  // from the nearest checkpoint before it, on one rank
  std::optional<std::string> data = {};
  std::optional<std::size_t> values_of = {};  // also keep the outputs of the op with this number
};

struct TraceResult {
  Trace trace;
  std::vector<float> values;  // of the outputs asked for, one after the other
};

// Errors: those of `replay`, but a step that is not what the ledger says is none.
// Bits: recipe, data; in native numerics the machine, too.
TraceResult trace(const TraceOptions& options);

void write_trace(const std::filesystem::path& path, const Trace& trace);
// Whether a file says so in its first bytes.
bool is_trace(const std::filesystem::path& path);
// Throws Error(kCannotCompare) naming the line if it is not a trace.
Trace read_trace(const std::filesystem::path& path);

}  // namespace lockstep::audit
