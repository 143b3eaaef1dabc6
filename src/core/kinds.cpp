#include "lockstep/core/kinds.h"

#include "lockstep/core/list.h"

namespace lockstep {

std::string listed(const std::vector<std::string>& words) {
  return listed(words, " or ");
}

}  // namespace lockstep
