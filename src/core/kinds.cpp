#include "lockstep/core/kinds.h"

namespace lockstep {

std::string listed(const std::vector<std::string>& words) {
  std::string line;
  for (std::size_t i = 0; i < words.size(); ++i)
    line += (i == 0 ? "" : i + 1 < words.size() ? ", " : " or ") + words[i];
  return line;
}

}  // namespace lockstep
