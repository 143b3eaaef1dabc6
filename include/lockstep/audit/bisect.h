// Where two traces of the same step part: the first op whose inputs agree and whose output does
// not; and whether they are what the ledgers say.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "lockstep/audit/trace.h"
#include "lockstep/ledger/ledger.h"

namespace lockstep::audit {

struct Divergence {
  enum class Kind {
    kOutput,  // inputs agree, an output differs: this op computes other bits
    kInput,   // an input differs that no op before it made: something that is not traced
    kOrder,   // other ops: the programs do not do the same
    kState    // all ops agree, the new states do not: a and b name the first tensor
  };
  Kind kind;
  std::size_t number = 0;  // in both traces, counted from 0
  std::string a, b;        // the op's names; the same unless kOrder; "the end" behind the last one
};

// The first step before theirs after which their states differ, though both began with the same:
// that is the one to trace. Throws Error(kCannotCompare) if they are not of the same step of the
// same run, or differ already in the first state that both have.
std::optional<Step> earlier_divergence(const Trace& a, const Trace& b);

// The first step on the trace's way, its own included, after which the ledger has another state.
std::optional<Step> not_in_ledger(const Trace& trace, const ledger::Ledger& ledger);

// Nothing if all ops agree, and the states that they lead to. Throws Error(kCannotCompare) as
// earlier_divergence, and if they come to their step from different states.
std::optional<Divergence> first_divergence(const Trace& a, const Trace& b);

}  // namespace lockstep::audit
