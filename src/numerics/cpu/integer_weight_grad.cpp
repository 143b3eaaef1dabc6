#include <algorithm>
#include <vector>

#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/spec/integer.h"
#include "numerics/cpu/integer_scalar.h"
#include "numerics/cpu/lane_tree.h"
#include "numerics/cpu/packed_pairs.h"
#include "numerics/cpu/padded.h"

namespace lockstep::numerics {
namespace {

// Of the samples that are prepared at a time: stays in the second-level cache.
constexpr std::int64_t kPreparedBytes = 384 * 1024;

// One sample as its product wants it: neighbouring output pixels are multiplied two by two. In rows
// of an odd number of pixels the last one stands beside zeros.
struct Prepared {
  PackedPairs dy;  // pixel pairs of dy
  bool fits;       // see PackedPairs
  bool finite;
  std::int32_t exponent;        // of the sample's results
  std::vector<std::int16_t> x;  // pixels of x, each beside the one `stride` further on
};

// A lane's gradient of rows [begin, end) of the kh*kw*in rows of dw.
class LaneGradient {
 public:
  LaneGradient(const IntegerKernels& kernels, const ConvShape& s, std::int64_t samples,
               std::int64_t begin, std::int64_t end, const Rounded& x, const Rounded& dy)
      : kernels_(kernels),
        s_(s),
        samples_(samples),
        rows_(end - begin),
        x_(x),
        dy_(dy),
        width_((s.out_w() - 1) * s.stride + s.kw),
        pairs_of_row_((s.out_w() + 1) / 2) {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t ky = r / (s.kw * s.in), kx = r / s.in % s.kw;
      starts_.push_back(2 * ((ky * width_ + kx) * s.in + r % s.in));
    }
    const std::int64_t height = (s.out_h() - 1) * s.stride + s.kh;
    window_ = {.y = -s.pad, .x = -s.pad, .h = height, .w = width_ + s.stride};
    for (std::int64_t oy = 0; oy < s.out_h(); ++oy) {
      for (std::int64_t i = 0; i < pairs_of_row_; ++i) {
        offsets_.push_back(2 * (oy * s.stride * width_ + 2 * i * s.stride) * s.in);
      }
    }
    const std::int64_t bytes = 4 * (height * width_ * s.in + std::ssize(offsets_) * s.out);
    at_once_ = std::clamp<std::int64_t>(kPreparedBytes / (bytes + 1), 1, samples);
  }

  void compute(std::int64_t lane, float* dw) {
    for (std::int64_t i = 0; i < samples_; i += at_once_) {
      add(lane * samples_ + i, std::min(at_once_, samples_ - i), i > 0, dw);
    }
  }

 private:
  // Samples [first, first+count) in order, tile by tile: a panel of dy stays in the first-level
  // cache meanwhile, and so does the tile's part of dw.
  void add(std::int64_t first, std::int64_t count, bool begun, float* dw) {
    std::vector<Prepared> prepared;
    for (std::int64_t n = first; n < first + count; ++n) prepared.push_back(prepare(n));
    const std::int64_t tiles = (rows_ + kernels_.rows - 1) / kernels_.rows;
    const PackedPairs& any = prepared.front().dy;
    for (std::int64_t panel = 0; panel < any.panels(); ++panel) {
      for (std::int64_t i = 0; i < tiles; ++i) {
        const std::int64_t begin = rows_ * i / tiles, end = rows_ * (i + 1) / tiles;
        float* c[kMaxTileRows];
        for (std::int64_t r = begin; r < end; ++r)
          c[r - begin] = dw + r * s_.out + any.first_column(panel);
        for (std::int64_t n = 0; n < count; ++n) {
          multiply(prepared[static_cast<std::size_t>(n)], panel, begin, end, begun || n > 0, c);
        }
      }
    }
  }

  void multiply(const Prepared& one, std::int64_t panel, std::int64_t begin, std::int64_t end,
                bool add, float* const* c) {
    const std::int16_t* a[kMaxTileRows];
    for (std::int64_t r = begin; r < end; ++r)
      a[r - begin] = one.x.data() + starts_[static_cast<std::size_t>(r)];
    const IntegerTile tile{.a = a,
                           .a_offset = offsets_.data(),
                           .b = one.dy.row(panel, 0),
                           .pairs = one.dy.pairs(),
                           .fits = one.fits,
                           .exponent = one.exponent,
                           .c = c,
                           .rows = static_cast<int>(end - begin),
                           .columns = static_cast<int>(one.dy.columns_of(panel)),
                           .add = add};
    if (one.finite) return kernels_.tile(tile);
    const float nan = spec::product_of(0, spec::kNotFinite, spec::kNotFinite);
    for (int r = 0; r < tile.rows; ++r) std::fill_n(c[r], tile.columns, nan);
  }

  Prepared prepare(std::int64_t n) {
    const std::int32_t u = x_.exponents[n], v = dy_.exponents[n];
    Prepared one{.dy = PackedPairs(kernels_, std::ssize(offsets_), s_.out),
                 .fits = false,
                 .finite = u != spec::kNotFinite && v != spec::kNotFinite,
                 .exponent = u + v - 20,
                 .x = {}};
    const std::int16_t* dy = dy_.q + n * s_.out_h() * s_.out_w() * s_.out;
    for (std::int64_t pair = 0; pair < std::ssize(offsets_); ++pair) {
      const std::int64_t ox = pair % pairs_of_row_ * 2;
      const std::int16_t* first = dy + (pair / pairs_of_row_ * s_.out_w() + ox) * s_.out;
      one.dy.fill(pair, first, ox + 1 < s_.out_w() ? first + s_.out : nullptr);
    }
    one.fits = one.dy.fits();
    const std::int64_t row = width_ * s_.in, copied = window_.w * s_.in;
    copy_.resize(static_cast<std::size_t>(window_.h * copied));
    copy_padded<std::int16_t>({x_.q + n * s_.h * s_.w * s_.in, s_.h, s_.w, s_.in}, window_, s_.in,
                              copy_.data());
    one.x.resize(static_cast<std::size_t>(2 * window_.h * row));
    for (std::int64_t y = 0; y < window_.h; ++y) {
      const std::int16_t* from = copy_.data() + y * copied;
      kernels_.interleave(row, from, from + s_.stride * s_.in, one.x.data() + 2 * y * row);
    }
    return one;
  }

  const IntegerKernels& kernels_;
  const ConvShape& s_;
  const std::int64_t samples_, rows_;
  const Rounded& x_;
  const Rounded& dy_;
  const std::int64_t width_, pairs_of_row_;
  Window window_;
  std::int64_t at_once_ = 1;
  std::vector<std::int64_t> offsets_;
  std::vector<std::int16_t> copy_;
  std::vector<std::int64_t> starts_;  // of the rows of dw in a prepared x
};

}  // namespace

void Cpu::integer_conv2d_weight_grad(const ConvShape& s, const LaneBlocks& lanes, const Rounded& x,
                                     const Rounded& dy, float* dw) {
  const std::int64_t rows = s.kh * s.kw * s.in, samples = lanes.samples_per_lane;
  const std::int64_t grain = isa() == Isa::kScalar ? 1 : integer_kernels(isa()).rows;
  parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    if (isa() == Isa::kScalar) {
      const auto leaf = [&](std::int64_t lane, float* out) {
        integer_conv2d_weight_grad_scalar(s, lane * samples, samples, begin, end, x, dy, out);
      };
      tree_of_partials(isa(), lanes, rows, s.out, begin, end, leaf, dw);
    } else {
      LaneGradient gradient(integer_kernels(isa()), s, samples, begin, end, x, dy);
      const auto leaf = [&](std::int64_t lane, float* out) { gradient.compute(lane, out); };
      tree_of_partials(isa(), lanes, rows, s.out, begin, end, leaf, dw);
    }
  });
}

}  // namespace lockstep::numerics
