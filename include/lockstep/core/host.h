// Which host this process is on.
#pragma once

#include <string>

namespace lockstep {

// Another text for each host and each start of it, the same for all its processes, those in
// containers, too: the boot id of its kernel. "" where /proc has none.
std::string boot_id();

}  // namespace lockstep
