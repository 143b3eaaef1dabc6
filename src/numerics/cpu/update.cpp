
#include "lockstep/numerics/cpu.h"
#include "numerics/cpu/update_kernels.h"

namespace lockstep::numerics {
namespace {

constexpr std::int64_t kGrain = 16384;  // elements

}  // namespace

void Cpu::adamw(const AdamW& s, std::int64_t n, const float* g, float* p, float* m, float* v) {
  const UpdateKernels& kernels = update_kernels(isa());
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernels.adamw(s, begin, end, g, p, m, v);
  });
}

void Cpu::sgd(const Sgd& s, std::int64_t n, const float* g, float* p, float* u) {
  const UpdateKernels& kernels = update_kernels(isa());
  parallel_for(n, kGrain,
               [&](std::int64_t begin, std::int64_t end) { kernels.sgd(s, begin, end, g, p, u); });
}

void Cpu::lion(const Lion& s, std::int64_t n, const float* g, float* p, float* m) {
  const UpdateKernels& kernels = update_kernels(isa());
  parallel_for(n, kGrain,
               [&](std::int64_t begin, std::int64_t end) { kernels.lion(s, begin, end, g, p, m); });
}

void Cpu::ema(float one_minus_decay, std::int64_t n, const float* p, float* e) {
  const UpdateKernels& kernels = update_kernels(isa());
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernels.ema(one_minus_decay, begin, end, p, e);
  });
}

}  // namespace lockstep::numerics
