#include "train/state_broadcast.h"

#include <array>

#include "lockstep/ops/device.h"
#include "train/agree.h"
#include "train/divided_state.h"

namespace lockstep::train {
namespace {

// Every rank gets rank 0's tensors, or of a divided one its slice of `whole`'s.
void broadcast_tensors(comm::Group& group, const state::State* whole, state::State& state) {
  std::vector<float> passing;
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    state::Named& named = state.tensors[i];
    passing.resize(static_cast<std::size_t>(c10::multiply_integers(named.shape())));
    if (group.rank() == Rank(0))
      passing = ops::HostView(named.part ? whole->tensors[i].tensor : named.tensor).copy();
    group.broadcast(Rank(0), std::as_writable_bytes(std::span(passing)));
    if (group.rank() == Rank(0) && !named.part) continue;  // its own
    ops::from_host(std::span(passing).subspan(static_cast<std::size_t>(named.first()),
                                              static_cast<std::size_t>(named.tensor.numel())),
                   named.tensor);
  }
}

}  // namespace

void broadcast_state(comm::Group& group, const state::State* whole, Training& training) {
  if (group.size() > 1) {
    std::array<std::int64_t, 2> cursor = {training.state.step.value, training.state.samples};
    group.broadcast(Rank(0), std::as_writable_bytes(std::span(cursor)));
    training.state.step = Step(cursor[0]);
    training.state.samples = cursor[1];
    // At a fresh run's step 0 all ranks have made the same state.
    if (training.state.step > Step(0) || recipe::starts_from_state(training.recipe))
      broadcast_tensors(group, whole, training.state);
  }
  state::StateDigest now = digest(group, training.state);
  if (training.agreed) require_unchanged(training, now.leaves);  // since it was restored
  training.agreed = std::move(now);
  agree(group, training.state, *training.agreed);
}

}  // namespace lockstep::train
