// torchrun's summary of a failed job shows what a rank wrote into a file of its own.
#pragma once

#include <string>

#include "lockstep/comm/identity.h"

namespace lockstep::cli {

// Writes this process's error where TORCHELASTIC_ERROR_FILE says, if torchrun started it (its other
// variables are set) and no such file is there: each attempt of a rank has its own. Throws nothing:
// it is called when the program ends with an error.
void tell_torchrun(const std::string& message, const comm::Environment& environment) noexcept;

}  // namespace lockstep::cli
