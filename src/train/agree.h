// Ranks compare their states; a difference is located before any rank goes on.
#pragma once

#include "lockstep/comm/group.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

// Checks that all ranks hold the same new state. Collective: yes. Errors:
// kDiffer unless all digests are equal; names tensor, elements, both values and the odd rank.
// kDiverged if the agreed state, or every rank's, has a value that is not finite; names the tensor.
// `finite`: the tensors that are known to have none (state::first_non_finite).
void agree(comm::Group& group, const state::State& state, const state::StateDigest& digest,
           const std::vector<bool>& finite = {});

// Throws Error(kDiffer) unless the state has the cursor of training.agreed.
void require_same_cursor(const Training& training);
// Throws Error(kDiffer), naming tensor and elements, unless the state is still training.agreed: it
// has its cursor, and `now`, the leaf hashes of its tensors, are its.
void require_unchanged(const Training& training, const state::Leaves& now);

}  // namespace lockstep::train
