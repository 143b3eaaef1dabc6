#include "picture_stack.h"

#include <utility>

#include "lockstep/core/error.h"

namespace lockstep::data {
namespace {

std::string sides(std::int64_t width, std::int64_t height) {
  return std::to_string(width) + " wide and " + std::to_string(height) + " high";
}

std::string colours(std::int64_t channels) {
  return channels == 1 ? "grey" : "RGB";
}

}  // namespace

void PictureStack::add(Picture picture, const std::string& name) {
  if (form_.channels) picture = with_channels(std::move(picture), *form_.channels);
  if (form_.size) picture = resized(picture, *form_.size);
  if (shape_.n == 0) {
    shape_ = {0, picture.height, picture.width, picture.channels};
    first_ = name;
    const auto u = [](std::int64_t size) { return static_cast<std::uint64_t>(size); };
    pixels_.reserve(checked_image_bytes(u(most_), u(shape_.h), u(shape_.w), u(shape_.c)));
  }
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
  pixels_.insert(pixels_.end(), picture.pixels.begin(), picture.pixels.end());
  ++shape_.n;
}

std::unique_ptr<Images> PictureStack::images() && {
  return std::make_unique<Images>(shape_, std::move(pixels_));
}

LabelledImages with_form(LabelledImages all, const PictureForm& form) {
  if (!form.channels && !form.size) return all;
  const ImageShape& shape = all.images->shape();
  PictureStack stack(form, shape.n);
  for (std::int64_t i = 0; i < shape.n; ++i) {
    const auto begin = all.images->pixels().begin() + i * shape.image_bytes();
    stack.add({shape.w, shape.h, shape.c, {begin, begin + shape.image_bytes()}},
              "image " + std::to_string(i));
  }
  all.images = std::move(stack).images();
  return all;
}

}  // namespace lockstep::data
