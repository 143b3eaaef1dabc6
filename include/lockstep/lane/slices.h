// Tensors of which every rank has its own slice, as in ZeRO (Rajbhandari et al. 2020): put
// together, or fetched by one rank. Like the exchange, every tile travels with its sender's leaf
// hash; one that does not arrive as it was sent is Error(kDiffer), naming tensor, elements and both
// ranks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lockstep/lane/context.h"

namespace lockstep::lane {

struct SlicedTensor {
  std::string name;  // for messages
  Division division;
  Tensor slice;  // this rank's, flat
  Tensor whole;  // where all slices go
};

// Fills every `whole` on all ranks. Collective: yes. Bits: slices.
void all_gather(comm::Group& group, const std::vector<SlicedTensor>& tensors);

// Fills every `whole` on rank `root` (undefined elsewhere). Collective:
// yes. Bits: slices.
void gather(comm::Group& group, Rank root, const std::vector<SlicedTensor>& tensors);

// Every rank's floats, by rank, of which rank r has counts[r]. `what` names them in messages.
// Collective: yes. Bits: mine.
std::vector<std::vector<float>> gather_sealed(comm::Group& group, const std::string& what,
                                              std::span<const float> mine,
                                              const std::vector<std::size_t>& counts);

}  // namespace lockstep::lane
