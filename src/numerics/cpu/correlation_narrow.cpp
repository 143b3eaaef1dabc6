#include <algorithm>
#include <vector>

#include "lockstep/numerics/spec/shapes.h"
#include "numerics/cpu/correlation.h"
#include "numerics/cpu/packed.h"
#include "numerics/cpu/padded.h"

namespace lockstep::numerics {
namespace {

// Of a planar copy: stays in the second-level cache.
constexpr std::int64_t kCopyFloats = 64 * 1024;

// A class's weights as [column][tap and channel].
std::vector<float> weight_rows(const Correlation& s, const TapClass& c, const float* weights) {
  std::vector<float> rows;
  for (std::int64_t column = 0; column < s.columns; ++column) {
    for (const Tap& t : c.taps) {
      for (std::int64_t k = 0; k < s.channels; ++k) {
        rows.push_back(weights[t.weights + k * s.weight_row + column * s.weight_column]);
      }
    }
  }
  return rows;
}

// One thread's walk over rows of cells. The padded source is copied to one plane a channel; then
// consecutive floats of a plane are consecutive pixels, through the rows' ends too (the few results
// there are dropped).
class Worker {
 public:
  Worker(const TileKernels& tile, const Correlation& s,
         const std::vector<std::vector<float>>& weights, const float* src, const float* bias,
         float* dst, const AddedRows& added)
      : tile_(tile),
        s_(s),
        weights_(weights),
        src_(src),
        bias_(bias),
        dst_(dst),
        added_(added),
        reach_(reach_of(s)) {
    width_ = CellRows(s).w() + reach_.high_x - reach_.low_x;
    rows_at_once_ = std::max<std::int64_t>(1, kCopyFloats / (width_ * s.channels + 1));
  }

  // Cell rows [begin, end) of sample n.
  void run(std::int64_t n, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += rows_at_once_) {
      const std::int64_t last = std::min(end, i + rows_at_once_);
      copy_planes(n, i, last);
      for (std::size_t c = 0; c < s_.classes.size(); ++c) {
        chains(s_.classes[c], weights_[c], (last - i) * width_);
        store(s_.classes[c], n, i, last);
      }
    }
    added_(n, begin, end);
  }

 private:
  void copy_planes(std::int64_t n, std::int64_t begin, std::int64_t end) {
    const Window window{.y = begin + reach_.low_y,
                        .x = reach_.low_x,
                        .h = end - begin + reach_.high_y - reach_.low_y,
                        .w = width_};
    const std::int64_t pixels = window.h * window.w;
    // An odd number of cache lines: planes a power of two apart would evict each other.
    plane_ = ((pixels + 15) / 16 | 1) * 16;
    pixels_.resize(static_cast<std::size_t>(pixels * s_.channels));
    copy_padded<float>(
        {src_ + n * s_.src_h * s_.src_w * s_.channels, s_.src_h, s_.src_w, s_.channels}, window,
        s_.channels, pixels_.data());
    // The last vector of the last tap reads beyond its plane.
    planes_.resize(
        static_cast<std::size_t>(plane_ * (s_.channels + 1) + tile_.wide_columns(s_.columns)));
    tile_.transpose(pixels, s_.channels, pixels_.data(), s_.channels, planes_.data(), plane_);
  }

  // sums_[column][position] for `positions` consecutive cells.
  void chains(const TapClass& taps, const std::vector<float>& weights, std::int64_t positions) {
    a_offsets_.clear();
    b_offsets_.clear();
    for (const Tap& t : taps.taps) {
      const std::int64_t tap = (t.y - reach_.low_y) * width_ + t.x - reach_.low_x;
      for (std::int64_t k = 0; k < s_.channels; ++k) {
        a_offsets_.push_back(static_cast<std::int64_t>(a_offsets_.size()));
        b_offsets_.push_back(k * plane_ + tap);
      }
    }
    const auto depth = static_cast<std::int64_t>(a_offsets_.size());
    const std::int64_t step = tile_.wide_columns(s_.columns);
    stride_ = (positions + step - 1) / step * step;
    sums_.resize(static_cast<std::size_t>(stride_ * s_.columns));
    const float* a[kMaxTileRows];
    float* c[kMaxTileRows];
    for (std::int64_t r = 0; r < s_.columns; ++r) a[r] = weights.data() + r * depth;
    RegisterTile t{
        .a = a, .c = c, .rows = static_cast<int>(s_.columns), .columns = static_cast<int>(step)};
    for (std::int64_t position = 0; position < positions; position += step) {
      for (std::int64_t r = 0; r < s_.columns; ++r) c[r] = sums_.data() + r * stride_ + position;
      t.b = planes_.data() + position;
      std::int64_t k = 0;
      do {
        t.a_offset = a_offsets_.data() + k;
        t.b_offset = b_offsets_.data() + k;
        t.depth = std::min(kBlock, depth - k);
        t.add = k > 0;
        tile_.tile(t);
        k += kBlock;
      } while (k < depth);
    }
  }

  void store(const TapClass& c, std::int64_t n, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t y = i * s_.dst_step + c.y;
      if (y >= s_.dst_h) break;
      const float* sum = sums_.data() + (i - begin) * width_;
      for (std::int64_t x = c.x; x < s_.dst_w; x += s_.dst_step, ++sum) {
        float* to = dst_ + ((n * s_.dst_h + y) * s_.dst_w + x) * s_.columns;
        for (std::int64_t r = 0; r < s_.columns; ++r) {
          to[r] = bias_ == nullptr ? sum[r * stride_] : sum[r * stride_] + bias_[r];
        }
      }
    }
  }

  const TileKernels& tile_;
  const Correlation& s_;
  const std::vector<std::vector<float>>& weights_;
  const float* src_;
  const float* bias_;
  float* dst_;
  const AddedRows& added_;
  Reach reach_;
  std::int64_t width_, rows_at_once_, plane_ = 0, stride_ = 0;
  std::vector<float> pixels_, planes_, sums_;
  std::vector<std::int64_t> a_offsets_, b_offsets_;
};

}  // namespace

void correlate_narrow(Cpu& cpu, const TileKernels& tile, const Correlation& s, const float* src,
                      const float* weights, const float* bias, float* dst, const AddedRows& added) {
  std::vector<std::vector<float>> rows;
  for (const TapClass& c : s.classes) rows.push_back(weight_rows(s, c, weights));
  CellRows(s).for_each(cpu, [&] { return Worker(tile, s, rows, src, bias, dst, added); });
}

}  // namespace lockstep::numerics
