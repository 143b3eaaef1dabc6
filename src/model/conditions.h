// How the samples' classes enter a network. A network without classes has no layer `classes` and is
// told no condition.
#pragma once

#include "lockstep/core/error.h"
#include "lockstep/model/layers.h"

namespace lockstep::model {

inline void check_condition(bool has_classes, const Tensor& condition) {
  LOCKSTEP_ASSERT(condition.defined() == has_classes,
                  has_classes ? "a network with classes needs a condition"
                              : "a network without classes has no use for a condition");
}

// h [N, F] and a row of F of each sample's class.
inline Tensor conditioned(Context& context, const Tensor& h, const std::shared_ptr<Linear>& classes,
                          const Tensor& condition) {
  check_condition(classes != nullptr, condition);
  return classes ? ops::add(h, classes->forward(context, condition)) : h;
}

// The end of a discriminator: logits [N] of rows [N, F]. With classes a projection discriminator
// (Miyato & Koyama 2018): a logit has in addition the dot of its row and a row of the class.
template <class Of>
Tensor logits(Context& context, Of& output, const std::shared_ptr<Of>& classes, const Tensor& rows,
              const Tensor& condition) {
  check_condition(classes != nullptr, condition);
  const std::int64_t n = rows.size(0);
  if (!classes) return ops::reshape(output.forward(context, rows), {n});
  const auto uses = ops::fork(rows, 2);
  const Tensor own = ops::reshape(output.forward(context, uses[0]), {n});
  return ops::add(own, ops::row_dots(uses[1], classes->forward(context, condition)));
}

}  // namespace lockstep::model
