#include "picture_stack.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/log.h"

namespace lockstep::data {
namespace {

std::string sides(std::int64_t width, std::int64_t height) {
  return std::to_string(width) + " wide and " + std::to_string(height) + " high";
}

std::string colours(std::int64_t channels) {
  return channels == 1 ? "grey" : "RGB";
}

}  // namespace

void PictureStack::begin(const ImageShape& shape) {
  if (shape_.n != 0) return;
  shape_ = {0, shape.h, shape.w, shape.c, shape.kind};
  const auto u = [](std::int64_t size) { return static_cast<std::uint64_t>(size); };
  checked_image_bytes(u(most_), u(shape.h), u(shape.w), u(shape.c), most_bytes_, shape.kind);
  start({most_, shape.h, shape.w, shape.c, shape.kind});
}

void PictureStack::add(Picture picture, const std::string& name) {
  if (form_.channels) picture = with_channels(std::move(picture), *form_.channels);
  if (form_.size) {
    const std::int64_t across = picture.width * form_.size->height,
                       down = picture.height * form_.size->width;
    // The side that has fewer old pixels for a new one decides (resize.h).
    if (2 * picture.width < form_.size->width || 2 * picture.height < form_.size->height)
      enlarged_.add(name);
    if (across > 2 * down || down > 2 * across) cropped_.add(name);
    picture = resized(picture, *form_.size);
  }
  if (shape_.n == 0) first_ = name;
  begin({0, picture.height, picture.width, picture.channels});
  const auto differ = [&](const std::string& first, const std::string& other,
                          const std::string& hint) {
    throw Error(Code::kData, first_ + " is " + first + ", " + name + " is " + other, hint);
  };
  if (picture.width != shape_.w || picture.height != shape_.h)
    differ(sides(shape_.w, shape_.h), sides(picture.width, picture.height),
           "pictures of a data set have one size: give it by --size");
  if (picture.channels != shape_.c)
    differ(colours(shape_.c), colours(picture.channels),
           "give --channels 1 for grey or --channels 3 for RGB");
  put(shape_, picture.pixels);
  ++shape_.n;
}

void PictureStack::warn_of_resized() const {
  const auto warn = [](const Some& some, const char* one, const char* many) {
    if (some.count > 0)
      log::warn(counted(some.count, one, many) + " by --size" +
                (some.count == 1 ? ": " : ", the first: ") + some.first);
  };
  warn(enlarged_, "picture is more than doubled", "pictures are more than doubled");
  warn(cropped_, "picture loses more than half", "pictures lose more than half");
}

void PictureStack::add(const ImageShape& shape, std::span<const std::uint8_t> pixels) {
  most_ = shape.n;
  if (shape.floats()) take_floats(shape, pixels);
  const auto bytes = static_cast<std::size_t>(shape.image_bytes());
  while (!pixels.empty()) {
    if (keeps_form() && partial_.empty() && pixels.size() >= bytes) {  // without another copy
      const std::size_t pictures = pixels.size() / bytes;
      begin(shape);
      put(shape_, pixels.first(pictures * bytes));
      shape_.n += static_cast<std::int64_t>(pictures);
      pixels = pixels.subspan(pictures * bytes);
      continue;
    }
    const std::size_t taken = std::min(bytes - partial_.size(), pixels.size());
    partial_.insert(partial_.end(), pixels.begin(),
                    pixels.begin() + static_cast<std::ptrdiff_t>(taken));
    pixels = pixels.subspan(taken);
    if (partial_.size() == bytes && keeps_form()) {
      begin(shape);
      put(shape_, std::exchange(partial_, {}));
      ++shape_.n;
    } else if (partial_.size() == bytes)
      add({shape.w, shape.h, shape.c, std::exchange(partial_, {})},
          "image " + std::to_string(shape_.n));
  }
}

void PictureStack::take_floats(const ImageShape& shape, std::span<const std::uint8_t> values) {
  if (!keeps_form())
    throw Error(
        Code::kUsage,
        "--size and --channels are of pictures, and these are " + std::string(word_of(shape.kind)),
        "leave them out");
  LOCKSTEP_ASSERT(values.size() % sizeof(float) == 0);
  moments_.resize(static_cast<std::size_t>(shape.c));
  for (std::size_t at = 0; at < values.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, values.data() + at, sizeof(float));
    moments_[channel_].add(value);
    if (++channel_ == moments_.size()) channel_ = 0;
  }
}

void PictureStack::add(std::unique_ptr<Images> all) {
  add(all->shape(), all->pixels());
}

void MemoryStack::start(const ImageShape& shape) {
  // Nothing is written to it before pixels come.
  pixels_.reserve(static_cast<std::size_t>(shape.n * shape.image_bytes()));
}

void MemoryStack::put(const ImageShape&, std::span<const std::uint8_t> pixels) {
  pixels_.insert(pixels_.end(), pixels.begin(), pixels.end());
}

void MemoryStack::add(std::unique_ptr<Images> all) {
  if (!keeps_form()) return PictureStack::add(std::move(all));
  if (all->shape().floats()) take_floats(all->shape(), all->pixels());
  shape_ = all->shape();
  all_ = std::move(all);
}

std::unique_ptr<Images> MemoryStack::images() && {
  if (all_) return std::move(all_);
  return std::make_unique<Images>(shape_, std::move(pixels_));
}

}  // namespace lockstep::data
