// Names of this program's functions for a signal handler, the hidden ones and those of anonymous
// namespaces too: backtrace_symbols_fd knows exported ones only.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::testing::far {

// Reads the program's table of symbols; before the first call of function_at.
void read_symbols();

// The demangled name of the program's function at this address; empty for other code, and if the
// program is stripped. Allocates: for a process that ends.
std::string function_at(std::uintptr_t address);

}  // namespace lockstep::testing::far
