// Whether all ranks opened the same data, and where they differ if not.
#pragma once

#include "lockstep/comm/group.h"
#include "lockstep/data/dataset.h"

namespace lockstep::train {

// Throws Error(kData) on all ranks if a rank's data set differs from rank 0's: "sample 17 and 2
// more, rank 2 has …, rank 0 has …". Collective: yes.
void require_same_data(comm::Group& group, const data::Dataset& dataset);

}  // namespace lockstep::train
