#include "train/share.h"

#include <array>

#include "lockstep/comm/gather.h"
#include "lockstep/core/error.h"
#include "lockstep/ops/record.h"
#include "train/agree.h"
#include "train/shards.h"

namespace lockstep::train {

void share_state(comm::Group& group, const state::State* whole, Training& training) {
  if (group.size() > 1) {
    std::array<std::int64_t, 2> cursor = {training.state.step.value, training.state.samples};
    group.broadcast(Rank(0), std::as_writable_bytes(std::span(cursor)));
    training.state.step = Step(cursor[0]);
    training.state.samples = cursor[1];
    // At a fresh run's step 0 all ranks have made the same state.
    if (training.state.step > Step(0) || recipe::has_parent(training.recipe))
      scatter(group, whole, training.state);
  }
  const state::StateDigest now = digest(group, training.state);
  if (training.agreed) require_unchanged(training, now);  // since it was restored
  training.agreed = now;
  agree(group, training.state, *training.agreed);
}

std::vector<std::int64_t> sums(comm::Group& group, const std::vector<std::int64_t>& mine) {
  std::vector<std::int64_t> result(mine.size());
  for (const auto& theirs : comm::gather(group, mine)) {
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += theirs[i];
  }
  return result;
}

void await_all(comm::Group& group) {
  try {
    group.barrier();
  } catch (const Error&) {  // a rank has left already, so all had come
  }
}

}  // namespace lockstep::train
