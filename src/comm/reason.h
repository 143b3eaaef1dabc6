// Why a group was stopped, as told by the ranks that did not stop it.
#pragma once

#include "lockstep/core/error.h"

namespace lockstep::comm {

// kDiffer and kDiverged are verdicts on the run: every rank ends with them. Any other error is one
// rank's own; the others have lost a peer (kNetwork).
inline Code code_for_others(Code code) {
  return code == Code::kDiffer || code == Code::kDiverged ? code : Code::kNetwork;
}

inline constexpr const char* kGroupStopped = "the group was stopped";

}  // namespace lockstep::comm
