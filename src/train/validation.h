// The loss on held-out samples.
#pragma once

#include "lockstep/comm/group.h"
#include "lockstep/train/step.h"

namespace lockstep::train {

// The mean loss of all held-out samples: of the averaged weights where an average is kept, else of
// the weights; (tree sum over samples in order) * float(1 / count). Each rank computes a block of
// samples. Changes nothing. Under the guard. Collective: yes. Bits: state, recipe, held-out
// samples; not the world size.
float validation_loss(Training& training, comm::Group& group, const Feed& held_out);

}  // namespace lockstep::train
