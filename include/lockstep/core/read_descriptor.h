// What an open file descriptor gives: of a file, a device or a pipe.
#pragma once

#include <cstdint>
#include <functional>

#include "lockstep/core/bytes.h"

namespace lockstep {

// Reads to the end, or until `into` is full. Returns bytes; -1: errno says why. A pipe, as of the
// shell's <(command), gives its bytes bit by bit: whoever writes it is waited for, if anybody does,
// until gives_up, which is asked ten times a second. The descriptor is one of O_NONBLOCK.
std::int64_t read_descriptor(int descriptor, MutableByteView into,
                             const std::function<bool()>& gives_up = {});

}  // namespace lockstep
