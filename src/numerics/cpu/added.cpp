#include "numerics/cpu/added.h"

#include "numerics/cpu/elementwise_kernels.h"

namespace lockstep::numerics {

AddedRows::AddedRows(Isa isa, const ConvShape& s, const Added& added, float* y)
    : isa_(isa),
      height_(s.out_h()),
      width_(s.out_w()),
      channels_(s.out),
      rows_(added.rows),
      values_(added.values),
      y_(y) {}

void AddedRows::operator()(std::int64_t n, std::int64_t begin, std::int64_t end) const {
  if (rows_ == nullptr && values_ == nullptr) return;
  const ElementwiseKernels& kernels = elementwise_kernels(isa_);
  const std::int64_t first = (n * height_ + begin) * width_ * channels_;
  const std::int64_t pixels = (end - begin) * width_;
  float* const y = y_ + first;
  if (rows_ != nullptr) kernels.add_row(pixels, channels_, rows_ + n * channels_, y);
  if (values_ != nullptr) {
    kernels.binary[static_cast<int>(Binary::kAdd)](pixels * channels_, values_ + first, y, y);
  }
}

void AddedRows::to_rows(std::int64_t begin, std::int64_t end) const {
  for (std::int64_t row = begin; row < end; ++row) {
    (*this)(row / height_, row % height_, row % height_ + 1);
  }
}

}  // namespace lockstep::numerics
