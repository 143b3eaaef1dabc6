// What a host loop over a device's tensor meets in the tests: the process ends with Code::kBug
// (70), and stderr says where, for example
//
//   the host touched device memory: byte 12 of an allocation of 4096 (far byte 0x1c0c), in
//   model/hidden, backward of linear; called from:
//     lockstep::ops::(anonymous namespace)::sum(at::Tensor const&)
//     …
//
// (the first two are one line). The place is ops::where() of the thread.
#pragma once

namespace lockstep::testing::far {

// From now on, in all threads; calls after the first do nothing. Other faults go to the handler
// that was there before.
void name_faults();

}  // namespace lockstep::testing::far
