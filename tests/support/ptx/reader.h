// Reads a function of PTX (program.h).
#pragma once

#include "support/ptx/program.h"

namespace lockstep::test::ptx {

// head: .entry or .func with names and parameters; body: what stands between its braces, from this
// line of the text on.
std::unique_ptr<Function> read_function(Module& module, const std::string& name,
                                        std::string_view head, std::string_view body, int line);

}  // namespace lockstep::test::ptx
