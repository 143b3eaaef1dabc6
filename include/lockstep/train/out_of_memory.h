// What std::bad_alloc means to people.
#pragma once

#include <string>

#include "lockstep/core/error.h"

namespace lockstep::train {

// of_gpu: it may have been a GPU's memory, not the host's. lower: what else to do, "" if nothing.
Error out_of_memory(bool of_gpu, const std::string& lower);

}  // namespace lockstep::train
