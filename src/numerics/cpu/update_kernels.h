// Private: the update kernels of one instruction set, on elements [begin, end).
#pragma once

#include <cstdint>

#include "lockstep/numerics/isa.h"
#include "lockstep/numerics/spec/update_scalars.h"

namespace lockstep::numerics {

struct UpdateKernels {
  void (*adamw)(const AdamW& s, std::int64_t begin, std::int64_t end, const float* g, float* p,
                float* m, float* v);
  void (*sgd)(const Sgd& s, std::int64_t begin, std::int64_t end, const float* g, float* p,
              float* u);
  void (*lion)(const Lion& s, std::int64_t begin, std::int64_t end, const float* g, float* p,
               float* m);
  void (*ema)(float one_minus_decay, std::int64_t begin, std::int64_t end, const float* p,
              float* e);
};

extern const UpdateKernels kUpdateScalar;
const UpdateKernels& update_kernels(Isa isa);

}  // namespace lockstep::numerics
