#include "lockstep/model/time_embedding.h"

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"

namespace lockstep::model {

at::Tensor time_embedding(const at::Tensor& t, std::int64_t width) {
  LOCKSTEP_ASSERT(width % 2 == 0 && width > 0, std::to_string(width));
  at::Tensor embedding = ops::empty({t.numel(), width});
  ops::device().time_embedding(t.numel(), width, ops::read(t), ops::write(embedding));
  return embedding;
}

}  // namespace lockstep::model
