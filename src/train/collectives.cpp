#include "train/collectives.h"

#include "lockstep/comm/gather.h"
#include "lockstep/core/error.h"

namespace lockstep::train {

std::vector<std::int64_t> sums(comm::Group& group, const std::vector<std::int64_t>& mine) {
  std::vector<std::int64_t> result(mine.size());
  for (const auto& theirs : comm::gather(group, mine)) {
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += theirs[i];
  }
  return result;
}

}  // namespace lockstep::train
