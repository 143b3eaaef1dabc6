#include "lockstep/data/resize.h"

#include <algorithm>
#include <string>
#include <vector>

#include "lockstep/core/error.h"

namespace lockstep::data {
namespace {

// One new pixel along an axis: weights of the old ones from `first` on. They add up to the axis's
// denominator.
struct Mix {
  std::int64_t first = 0;
  std::vector<std::uint64_t> weights;
};

struct Axis {
  std::vector<Mix> pixels;
  std::uint64_t denominator = 1;
};

// `scale` old pixels make a new one: a / b.
struct Scale {
  std::int64_t a = 1, b = 1;
};

// The first old pixel of the window of `made` new ones in the middle of `old`.
std::int64_t window(std::int64_t old, std::int64_t made, const Scale& scale) {
  return (old * scale.b - made * scale.a) / (2 * scale.b);
}

// In units of 1 / b old pixels: new pixel i covers [i a, (i + 1) a), and its weights are the
// lengths that it shares with each old one.
Axis area(std::int64_t old, std::int64_t made, const Scale& scale) {
  const auto [a, b] = scale;
  Axis axis{{}, static_cast<std::uint64_t>(a)};
  for (std::int64_t i = 0, begin = window(old, made, scale) * b; i < made; ++i, begin += a) {
    Mix mix{begin / b, {}};
    for (std::int64_t at = begin; at < begin + a;) {
      const std::int64_t next = std::min((at / b + 1) * b, begin + a);
      mix.weights.push_back(static_cast<std::uint64_t>(next - at));
      at = next;
    }
    axis.pixels.push_back(std::move(mix));
  }
  return axis;
}

// In units of 1 / 2b old pixels: the centre of new pixel i lies between the centres of two old
// ones, and each has the weight of the way to the other. Beyond the border it is the last one.
Axis bilinear(std::int64_t old, std::int64_t made, const Scale& scale) {
  const auto [a, b] = scale;
  Axis axis{{}, static_cast<std::uint64_t>(2 * b)};
  const std::int64_t begin = window(old, made, scale) * 2 * b;
  for (std::int64_t i = 0; i < made; ++i) {
    const std::int64_t centre = std::max<std::int64_t>(begin + (2 * i + 1) * a - b, 0);
    const std::int64_t left = centre / (2 * b), way = centre % (2 * b);
    Mix mix{left, {static_cast<std::uint64_t>(2 * b - way)}};
    if (left + 1 < old)
      mix.weights.push_back(static_cast<std::uint64_t>(way));
    else
      mix.weights = {static_cast<std::uint64_t>(2 * b)};
    axis.pixels.push_back(std::move(mix));
  }
  return axis;
}

// One row in its new width, times the denominator: at most 255 * 2^17.
void mix_row(const std::uint8_t* row, std::int64_t channels, const Axis& axis,
             std::vector<std::uint64_t>& out) {
  std::size_t at = 0;
  for (const Mix& mix : axis.pixels) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::uint8_t* old = row + mix.first * channels + c;
      std::uint64_t sum = 0;
      for (const std::uint64_t weight : mix.weights) {
        sum += weight * *old;
        old += channels;
      }
      out[at++] = sum;
    }
  }
}

}  // namespace

Picture resized(const Picture& picture, const PictureSize& size) {
  for (const std::int64_t side : {size.width, size.height})
    LOCKSTEP_ASSERT(side >= 1 && side <= kMostResized, std::to_string(side));
  LOCKSTEP_ASSERT(picture.width >= 1 && picture.height >= 1 && picture.width <= kMaxPictureSide &&
                  picture.height <= kMaxPictureSide);
  // The side that has fewer old pixels for a new one decides: all of it is in the window.
  const Scale scale = picture.width * size.height < picture.height * size.width
                          ? Scale{picture.width, size.width}
                          : Scale{picture.height, size.height};
  const auto axis_of = [&](std::int64_t old, std::int64_t made) {
    return scale.a >= scale.b ? area(old, made, scale) : bilinear(old, made, scale);
  };
  const Axis across = axis_of(picture.width, size.width);
  const Axis down = axis_of(picture.height, size.height);

  Picture out{size.width, size.height, picture.channels, {}};
  const auto row = static_cast<std::size_t>(size.width * picture.channels);
  out.pixels.reserve(row * static_cast<std::size_t>(size.height));
  const std::uint64_t denominator = across.denominator * down.denominator;  // <= 2^34
  std::vector<std::uint64_t> mixed(row), sums(row);
  for (const Mix& mix : down.pixels) {
    std::ranges::fill(sums, 0);
    const std::uint8_t* old = picture.pixels.data() + mix.first * picture.width * picture.channels;
    for (const std::uint64_t weight : mix.weights) {
      mix_row(old, picture.channels, across, mixed);
      for (std::size_t i = 0; i < row; ++i) sums[i] += weight * mixed[i];
      old += picture.width * picture.channels;
    }
    for (const std::uint64_t sum : sums)
      out.pixels.push_back(static_cast<std::uint8_t>((sum + denominator / 2) / denominator));
  }
  return out;
}

Picture with_channels(Picture picture, std::int64_t channels) {
  LOCKSTEP_ASSERT(channels == 1 || channels == 3, std::to_string(channels));
  if (picture.channels == channels) return picture;
  Picture out{picture.width, picture.height, channels, {}};
  out.pixels.reserve(static_cast<std::size_t>(picture.width * picture.height * channels));
  const std::vector<std::uint8_t>& old = picture.pixels;
  if (channels == 3) {
    for (const std::uint8_t grey : old) out.pixels.insert(out.pixels.end(), 3, grey);
    return out;
  }
  for (std::size_t i = 0; i < old.size(); i += 3) {
    const std::uint32_t sum = 19595u * old[i] + 38470u * old[i + 1] + 7471u * old[i + 2];
    out.pixels.push_back(static_cast<std::uint8_t>((sum + 32768) >> 16));
  }
  return out;
}

}  // namespace lockstep::data
