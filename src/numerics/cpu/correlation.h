// Private: what a convolution and its input gradient have in common. Pixels of `dst` whose (y, x)
// have the same remainders modulo dst_step are a class; they share a list of taps, and
//
//   dst[n, i*dst_step+class.y, j*dst_step+class.x, column] = sum over the class's taps in order and
//       channels (fastest) of src[n, i*src_step+tap.y, j*src_step+tap.x, channel] * weight,
//
// with src = 0 outside the image; then + bias[column]. A sum of floats is a blocked chain.
#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/numerics/cpu.h"
#include "numerics/cpu/added.h"
#include "numerics/cpu/register_tile.h"

namespace lockstep::numerics {

struct Tap {
  std::int64_t y = 0, x = 0;
  // Where its weights begin: that of channel and column is channel*weight_row +
  // column*weight_column further on.
  std::int64_t weights = 0;
};

struct TapClass {
  std::int64_t y = 0, x = 0;
  std::vector<Tap> taps;
};

struct Correlation {
  std::int64_t n = 0;
  std::int64_t src_h = 0, src_w = 0, channels = 0;
  std::int64_t dst_h = 0, dst_w = 0, columns = 0;
  std::int64_t src_step = 1, dst_step = 1;
  std::int64_t weight_row = 0, weight_column = 0;
  std::vector<TapClass> classes;
};

Correlation forward_of(const ConvShape& s);
Correlation input_grad_of(const ConvShape& s);

// The rectangle of tap positions.
struct Reach {
  std::int64_t low_y = 0, high_y = 0, low_x = 0, high_x = 0;
};
Reach reach_of(const Correlation& s);

// A cell is one pixel of every class; body(n, begin, end) gets rows of cells of sample n.
class CellRows {
 public:
  explicit CellRows(const Correlation& s);

  std::int64_t h() const { return h_; }
  std::int64_t w() const { return w_; }
  template <class MakeWorker>
  void for_each(Cpu& cpu, const MakeWorker& make) const {
    cpu.parallel_for(n_ * h_, grain_, [&](std::int64_t begin, std::int64_t end) {
      auto worker = make();
      while (begin < end) {
        const std::int64_t n = begin / h_, first = begin % h_;
        const std::int64_t last = first + end - begin < h_ ? first + end - begin : h_;
        worker.run(n, first, last);
        begin += last - first;
      }
    });
  }

 private:
  std::int64_t n_, h_, w_, grain_;
};

// `added` follows each row of cells: only where dst is the picture of a forward pass.
void correlate(Cpu& cpu, const TileKernels& tile, const Correlation& s, const float* src,
               const float* weights, const float* bias, float* dst, const AddedRows& added = {});

// The same for few columns and src_step 1: vectors run along pixels instead of columns.
void correlate_narrow(Cpu& cpu, const TileKernels& tile, const Correlation& s, const float* src,
                      const float* weights, const float* bias, float* dst, const AddedRows& added);

}  // namespace lockstep::numerics
