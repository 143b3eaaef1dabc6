// Why a group was stopped, as those ranks say it that did not stop it.
#pragma once

#include "lockstep/core/error.h"

namespace lockstep::comm {

// A verdict on the run is every rank's end; anything else is one rank's, and the others lost a
// peer.
inline Code code_for_others(Code code) {
  return code == Code::kDiffer || code == Code::kDiverged ? code : Code::kNetwork;
}

inline constexpr const char* kGroupStopped = "the group was stopped";

}  // namespace lockstep::comm
