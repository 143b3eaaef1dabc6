#include <algorithm>
#include <vector>

#include "lockstep/numerics/cpu.h"
#include "numerics/cpu/lane_tree.h"
#include "numerics/cpu/matrix_scalar.h"
#include "numerics/cpu/packed.h"
#include "numerics/cpu/padded.h"

namespace lockstep::numerics {
namespace {

// One lane's gradient of rows [begin, end) of the kh*kw*in rows of dw: a matrix product whose depth
// are the lane's output pixels.
class LaneGradient {
 public:
  LaneGradient(const TileKernels& tile, const ConvShape& s, std::int64_t samples,
               std::int64_t begin, std::int64_t end, const float* x, const float* dy)
      : tile_(tile), s_(s), samples_(samples), begin_(begin), x_(x), dy_(dy) {
    rows_ = end - begin;
    a_.resize(static_cast<std::size_t>(rows_));
    c_.resize(static_cast<std::size_t>(rows_));
    // Few columns would leave most of a vector empty: then the vectors run along x's channels.
    transposed_ = s.out <= tile.lanes / 2 && s.in >= tile.lanes;
    if (transposed_) sums_.resize(static_cast<std::size_t>(rows_ * s.out));
  }

  void compute(std::int64_t lane, float* dw) {
    for (std::int64_t r = 0; r < rows_; ++r) c_[static_cast<std::size_t>(r)] = dw + r * s_.out;
    const std::int64_t pixels = samples_ * s_.out_h() * s_.out_w();
    if (pixels == 0) std::fill_n(dw, rows_ * s_.out, 0.0F);
    for (std::int64_t k = 0; k < pixels; k += kBlock) {
      const std::int64_t first = lane * pixels + k, count = std::min(kBlock, pixels - k);
      gather(first, first + count);
      transposed_ ? add_block_transposed(first, count, k > 0) : add_block(first, count, k > 0);
    }
    if (!transposed_ || pixels == 0) return;
    for (std::int64_t i = 0; i < rows_ * s_.out; ++i) {
      dw[i] = sums_[static_cast<std::size_t>(i % s_.out * rows_ + i / s_.out)];
    }
  }

 private:
  void add_block(std::int64_t first, std::int64_t count, bool add) {
    for (std::int64_t r = 0; r < rows_; ++r) a_[static_cast<std::size_t>(r)] = image_of(r);
    PackedColumns packed(tile_, count, s_.out);
    packed.fill(0, count, dy_ + first * s_.out, s_.out, 1);
    sweep_tiles({.tile = &tile_,
                 .a = a_.data(),
                 .c = c_.data(),
                 .rows = rows_,
                 .a_offset = offsets_.data(),
                 .packed = &packed,
                 .block = kBlock,
                 .add = add});
  }

  // dw transposed, [out][rows_], in sums_.
  void add_block_transposed(std::int64_t first, std::int64_t count, bool add) {
    const float* a[kMaxTileRows];
    float* c[kMaxTileRows];
    std::vector<std::int64_t> dy_offsets;
    for (std::int64_t k = 0; k < count; ++k) dy_offsets.push_back(k * s_.out);
    RegisterTile t{.a = a,
                   .a_offset = dy_offsets.data(),
                   .b_offset = offsets_.data(),
                   .depth = count,
                   .c = c,
                   .rows = static_cast<int>(s_.out),
                   .add = add};
    for (std::int64_t r = 0; r < rows_; r += t.columns) {
      const std::int64_t tap_left = s_.in - (begin_ + r) % s_.in;
      t.columns = static_cast<int>(
          std::min<std::int64_t>({tile_.wide_columns(s_.out), tap_left, rows_ - r}));
      t.b = image_of(r);
      for (std::int64_t co = 0; co < s_.out; ++co) {
        a[co] = dy_ + first * s_.out + co;
        c[co] = sums_.data() + co * rows_ + r;
      }
      tile_.tile(t);
    }
  }

  // What row r multiplies, of the first pixel.
  const float* image_of(std::int64_t r) const {
    const std::int64_t m = begin_ + r, ky = m / (s_.kw * s_.in), kx = m / s_.in % s_.kw;
    return image_.data() + (ky * width() + kx) * s_.in + m % s_.in;
  }

  std::int64_t width() const { return (s_.out_w() - 1) * s_.stride + s_.kw; }

  // Copies what output pixels [begin, end) see of x, row by row, to image_, and lists where each
  // begins.
  void gather(std::int64_t begin, std::int64_t end) {
    image_.clear();
    offsets_.clear();
    while (begin < end) {
      const std::int64_t out_w = s_.out_w(), row = begin / out_w;
      const std::int64_t n = row / s_.out_h(), oy = row % s_.out_h();
      const std::int64_t rows_end = std::min((end + out_w - 1) / out_w, (n + 1) * s_.out_h());
      const std::int64_t rows = rows_end - row;
      const Window window{.y = oy * s_.stride - s_.pad,
                          .x = -s_.pad,
                          .h = (rows - 1) * s_.stride + s_.kh,
                          .w = width()};
      const auto at = static_cast<std::int64_t>(image_.size());
      image_.resize(static_cast<std::size_t>(at + window.h * window.w * s_.in));
      copy_padded<float>({x_ + n * s_.h * s_.w * s_.in, s_.h, s_.w, s_.in}, window, s_.in,
                         image_.data() + at);
      for (const std::int64_t last = std::min(end, rows_end * out_w); begin < last; ++begin) {
        const std::int64_t y = begin / out_w - row, x = begin % out_w;
        offsets_.push_back(at + (y * window.w + x) * s_.stride * s_.in);
      }
    }
    image_.resize(image_.size() + static_cast<std::size_t>(8 * tile_.lanes));  // read, not used
  }

  const TileKernels& tile_;
  const ConvShape& s_;
  std::int64_t samples_, begin_, rows_;
  const float* x_;
  const float* dy_;
  bool transposed_;
  std::vector<float> image_, sums_;
  std::vector<std::int64_t> offsets_;
  std::vector<const float*> a_;
  std::vector<float*> c_;
};

}  // namespace

void Cpu::conv2d_weight_grad(const ConvShape& s, const LaneBlocks& lanes, const float* x,
                             const float* dy, float* dw) {
  const std::int64_t rows = s.kh * s.kw * s.in;
  const std::int64_t grain = isa() == Isa::kScalar ? 1 : tile_kernels(isa()).rows;
  parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t spl = lanes.samples_per_lane;
    if (isa() == Isa::kScalar) {
      const auto leaf = [&](std::int64_t lane, float* out) {
        conv2d_weight_grad_scalar(s, lane * spl, spl, begin, end, x, dy, out);
      };
      tree_of_partials(isa(), lanes, rows, s.out, begin, end, leaf, dw);
    } else {
      LaneGradient gradient(tile_kernels(isa()), s, spl, begin, end, x, dy);
      const auto leaf = [&](std::int64_t lane, float* out) { gradient.compute(lane, out); };
      tree_of_partials(isa(), lanes, rows, s.out, begin, end, leaf, dw);
    }
  });
}

}  // namespace lockstep::numerics
