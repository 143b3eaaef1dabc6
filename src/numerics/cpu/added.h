// Private: what a convolution adds behind its bias, while the rows are in cache.
#pragma once

#include <cstdint>

#include "lockstep/numerics/isa.h"
#include "lockstep/numerics/spec/shapes.h"

namespace lockstep::numerics {

class AddedRows {
 public:
  // Nothing but a bias.
  AddedRows() = default;
  // y [n][out_h][out_w][out] of the convolution.
  AddedRows(Isa isa, const ConvShape& s, const Added& added, float* y);

  // To rows [begin, end) of the picture of sample n.
  void operator()(std::int64_t n, std::int64_t begin, std::int64_t end) const;
  // To rows [begin, end) of the n*out_h rows of all pictures.
  void to_rows(std::int64_t begin, std::int64_t end) const;

 private:
  Isa isa_ = Isa::kScalar;
  std::int64_t height_ = 0, width_ = 0, channels_ = 0;
  const float* rows_ = nullptr;
  const float* values_ = nullptr;
  float* y_ = nullptr;
};

}  // namespace lockstep::numerics
