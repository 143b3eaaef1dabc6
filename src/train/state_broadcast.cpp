#include "train/state_broadcast.h"

#include <algorithm>
#include <array>

#include "lockstep/ops/record.h"
#include "train/agree.h"
#include "train/divided_state.h"

namespace lockstep::train {
namespace {

// Every rank gets rank 0's tensors, or of a divided one its slice of `whole`'s.
void broadcast_tensors(comm::Group& group, const state::State* whole, state::State& state) {
  std::vector<float> passing;
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    state::Named& named = state.tensors[i];
    float* held = ops::write(named.tensor);
    const auto floats = static_cast<std::size_t>(c10::multiply_integers(named.shape()));
    if (!named.part) {
      group.broadcast(Rank(0), std::as_writable_bytes(std::span(held, floats)));
      continue;
    }
    passing.resize(floats);
    if (whole) std::copy_n(ops::read(whole->tensors[i].tensor), floats, passing.data());
    group.broadcast(Rank(0), std::as_writable_bytes(std::span(passing)));
    std::copy_n(passing.data() + named.first(), named.tensor.numel(), held);
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
    if (training.state.step > Step(0) || recipe::has_parent(training.recipe))
      broadcast_tensors(group, whole, training.state);
  }
  const state::StateDigest now = digest(group, training.state);
  if (training.agreed) require_unchanged(training, now);  // since it was restored
  training.agreed = now;
  agree(group, training.state, *training.agreed);
}

}  // namespace lockstep::train
