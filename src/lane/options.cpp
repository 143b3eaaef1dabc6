#include "lockstep/lane/plan.h"

namespace lockstep::lane {

void describe(Fields& f, Options& o) {
  f.field("lanes", o.lanes, 1, 4096, Effect::kBits,
          "fixed slices of the batch: logical ranks; any number of processes up to this");
  f.field("samples_per_lane", o.samples_per_lane, 1, 65536, Effect::kBits,
          "samples a lane in a step; batch = lanes x samples_per_lane");
}

}  // namespace lockstep::lane
