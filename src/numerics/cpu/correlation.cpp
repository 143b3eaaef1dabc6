#include "numerics/cpu/correlation.h"

#include <algorithm>

#include "numerics/cpu/packed.h"
#include "numerics/cpu/padded.h"

namespace lockstep::numerics {
namespace {

constexpr std::int64_t kWorkGrain = 1 << 17;  // multiplications worth a thread
constexpr std::int64_t kCopyFloats =
    64 * 1024;  // of a padded copy: stays in the second-level cache

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

struct PreparedClass {
  std::int64_t y, x;
  PackedColumns weights;
};

PreparedClass prepared(const TileKernels& tile, const Correlation& s, const TapClass& c) {
  const auto taps = static_cast<std::int64_t>(c.taps.size());
  PreparedClass result{c.y, c.x, PackedColumns(tile, taps * s.channels, s.columns)};
  for (std::int64_t i = 0; i < taps; ++i) {
    result.weights.fill(i * s.channels, s.channels, c.taps[static_cast<std::size_t>(i)].weights,
                        s.weight_row, s.weight_column);
  }
  return result;
}

// One thread's walk over rows of cells.
class Worker {
 public:
  Worker(const TileKernels& tile, const Correlation& s, const std::vector<PreparedClass>& classes,
         const float* src, const float* bias, float* dst)
      : tile_(tile),
        s_(s),
        classes_(classes),
        src_(src),
        bias_(bias),
        dst_(dst),
        reach_(reach_of(s)) {
    width_ = (CellRows(s).w() - 1) * s.src_step + reach_.high_x - reach_.low_x + 1;
    rows_at_once_ = std::max<std::int64_t>(1, kCopyFloats / (width_ * s.channels * s.src_step + 1));
  }

  // Cell rows [begin, end) of sample n.
  void run(std::int64_t n, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += rows_at_once_) {
      some_rows(n, i, std::min(end, i + rows_at_once_));
    }
  }

 private:
  void some_rows(std::int64_t n, std::int64_t begin, std::int64_t end) {
    const Window window{.y = begin * s_.src_step + reach_.low_y,
                        .x = reach_.low_x,
                        .h = (end - begin - 1) * s_.src_step + reach_.high_y - reach_.low_y + 1,
                        .w = width_};
    const Image image{src_ + n * s_.src_h * s_.src_w * s_.channels, s_.src_h, s_.src_w,
                      s_.channels};
    const View view = padded(image, window, copy_);
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      list_pixels(n, begin, end, classes_[c], view);
      list_offsets(s_.classes[c], view);
      sweep_tiles({.tile = &tile_,
                   .a = a_.data(),
                   .c = c_.data(),
                   .rows = static_cast<std::int64_t>(a_.size()),
                   .a_offset = offsets_.data(),
                   .packed = &classes_[c].weights,
                   .bias = bias_,
                   .block = kBlock});
    }
  }

  void list_pixels(std::int64_t n, std::int64_t begin, std::int64_t end, const PreparedClass& c,
                   const View& view) {
    a_.clear();
    c_.clear();
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t y = i * s_.dst_step + c.y;
      if (y >= s_.dst_h) break;
      const float* a = view.data + (i - begin) * s_.src_step * view.row;
      float* to = dst_ + ((n * s_.dst_h + y) * s_.dst_w + c.x) * s_.columns;
      for (std::int64_t x = c.x; x < s_.dst_w; x += s_.dst_step) {
        a_.push_back(a);
        c_.push_back(to);
        a += s_.src_step * s_.channels;
        to += s_.dst_step * s_.columns;
      }
    }
  }

  void list_offsets(const TapClass& c, const View& view) {
    offsets_.clear();
    for (const Tap& t : c.taps) {
      const std::int64_t tap = (t.y - reach_.low_y) * view.row + (t.x - reach_.low_x) * s_.channels;
      for (std::int64_t k = 0; k < s_.channels; ++k) offsets_.push_back(tap + k);
    }
  }

  const TileKernels& tile_;
  const Correlation& s_;
  const std::vector<PreparedClass>& classes_;
  const float* src_;
  const float* bias_;
  float* dst_;
  Reach reach_;
  std::int64_t width_, rows_at_once_;
  std::vector<float> copy_;
  std::vector<const float*> a_;
  std::vector<float*> c_;
  std::vector<std::int64_t> offsets_;
};

}  // namespace

Reach reach_of(const Correlation& s) {
  Reach r;
  bool first = true;
  for (const TapClass& c : s.classes) {
    for (const Tap& t : c.taps) {
      if (first) r = {t.y, t.y, t.x, t.x};
      first = false;
      r.low_y = std::min(r.low_y, t.y);
      r.high_y = std::max(r.high_y, t.y);
      r.low_x = std::min(r.low_x, t.x);
      r.high_x = std::max(r.high_x, t.x);
    }
  }
  return r;
}

CellRows::CellRows(const Correlation& s)
    : n_(s.n), h_(ceil_div(s.dst_h, s.dst_step)), w_(ceil_div(s.dst_w, s.dst_step)) {
  std::int64_t depth = 1;
  for (const TapClass& c : s.classes)
    depth += static_cast<std::int64_t>(c.taps.size()) * s.channels;
  grain_ = kWorkGrain / (depth * s.columns * w_) + 1;
}

void correlate(Cpu& cpu, const TileKernels& tile, const Correlation& s, const float* src,
               const float* bias, float* dst) {
  if (s.columns <= tile.lanes / 2 && s.src_step == 1) {
    return correlate_narrow(cpu, tile, s, src, bias, dst);
  }
  std::vector<PreparedClass> classes;
  for (const TapClass& c : s.classes) classes.push_back(prepared(tile, s, c));
  CellRows(s).for_each(cpu, [&] { return Worker(tile, s, classes, src, bias, dst); });
}

}  // namespace lockstep::numerics
