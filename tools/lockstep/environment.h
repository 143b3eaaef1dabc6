// This process's environment.
#pragma once

#include <string>
#include <vector>

#include "lockstep/comm/identity.h"

namespace lockstep::cli {

comm::Environment process_environment();
// Of the variables that are set, the names that begin so.
std::vector<std::string> names_of_variables(const std::string& prefix);
// Ranks share standard output: rank 0 speaks for all. Is it this process?
bool speaks();

}  // namespace lockstep::cli
