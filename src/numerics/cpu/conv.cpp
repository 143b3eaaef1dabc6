
#include "lockstep/numerics/cpu.h"
#include "numerics/cpu/correlation.h"
#include "numerics/cpu/matrix_scalar.h"

namespace lockstep::numerics {

void Cpu::conv2d(const ConvShape& s, const float* x, const float* w, const Added& added, float* y) {
  if (s.n * s.out_h() * s.out_w() * s.out == 0) return;
  const AddedRows behind(isa(), s, added, y);
  if (isa() == Isa::kScalar) {
    parallel_for(s.n * s.out_h(), 1, [&](std::int64_t begin, std::int64_t end) {
      conv2d_scalar(s, begin, end, x, w, added.bias, y);
      behind.to_rows(begin, end);
    });
    return;
  }
  correlate(*this, tile_kernels(isa()), forward_of(s), x, w, added.bias, y, behind);
}

void Cpu::conv2d_input_grad(const ConvShape& s, const float* dy, const float* w, const float* bias,
                            float* dx) {
  if (s.n * s.h * s.w * s.in == 0) return;
  if (isa() == Isa::kScalar) {
    parallel_for(s.n * s.h, 1, [&](std::int64_t begin, std::int64_t end) {
      conv2d_input_grad_scalar(s, begin, end, dy, w, bias, dx);
    });
    return;
  }
  correlate(*this, tile_kernels(isa()), input_grad_of(s), dy, w, bias, dx);
}

}  // namespace lockstep::numerics
