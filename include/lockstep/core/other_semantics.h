// Of what a version of the program with other arithmetic made: only that version can judge it.
#pragma once

#include <cstdint>
#include <string>

#include "lockstep/core/error.h"

namespace lockstep {

// name: the file's. theirs: what it states; ours: the program's (recipe/semantics.h).
inline Error of_other_semantics(const std::string& name, const std::string& theirs,
                                std::int64_t ours) {
  return Error(
      Code::kCannotCompare,
      name + ": made with semantics " + theirs + ", this program has " + std::to_string(ours),
      "use the version of lockstep that made it");
}

}  // namespace lockstep
