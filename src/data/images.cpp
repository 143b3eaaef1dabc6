#include "lockstep/data/images.h"

#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/hash/merkle.h"
#include "lockstep/numerics/cpu.h"

namespace lockstep::data {

static_assert(std::endian::native == std::endian::little, "floats lie in memory as in packs");

std::vector<std::int64_t> ImageShape::sample_shape() const {
  if (kind == SampleKind::kSignals) return {w};
  return {h, w, c};
}

std::string_view word_of(SampleKind kind) {
  LOCKSTEP_ASSERT(kind != SampleKind::kPoints, "points are not packed");
  if (kind == SampleKind::kPictures) return "images";
  return kind == SampleKind::kFields ? "fields" : "signals";
}

namespace {

std::string sides(std::uint64_t h, std::uint64_t w) {
  return std::to_string(w) + "x" + std::to_string(h);
}

void require_sides(std::uint64_t h, std::uint64_t w, std::uint64_t c, SampleKind kind,
                   const std::string& sizes) {
  const auto refuse = [&](const std::string& why) { throw Error(Code::kData, sizes + ": " + why); };
  if (kind == SampleKind::kSignals) {
    if (h != 1 || c != 1) refuse("a signal has one row and one channel");
    if (w > kLongestSignal) refuse("more than " + std::to_string(kLongestSignal) + " values");
    return;
  }
  if (kind == SampleKind::kPictures && c != 1 && c != 3)
    refuse("only 1 or 3 channels are supported");
  if (c > kMostChannels) refuse("more than " + std::to_string(kMostChannels) + " channels");
  if (h > 65535 || w > 65535) refuse("more than 65535 pixels a side");
}

}  // namespace

std::string counted_images(std::uint64_t n, SampleKind kind) {
  const std::string_view word = word_of(kind);
  return counted(n, word.substr(0, word.size() - 1));
}

std::string sides_of(const ImageShape& shape) {
  const auto u = [](std::int64_t size) { return static_cast<std::uint64_t>(size); };
  if (shape.kind == SampleKind::kSignals) return counted(shape.w, "value");
  const std::string both = sides(u(shape.h), u(shape.w)) + ", ";
  if (shape.kind == SampleKind::kFields) return both + counted(shape.c, "channel");
  return both + (shape.c == 1 ? "grey" : "RGB");
}

std::uint64_t checked_image_bytes(std::uint64_t n, std::uint64_t h, std::uint64_t w,
                                  std::uint64_t c, std::uint64_t most, SampleKind kind) {
  const std::string sizes =
      counted_images(n, kind) + " of " +
      (kind == SampleKind::kSignals ? counted(w, "value")
                                    : sides(h, w) + " (width x height), " + counted(c, "channel"));
  if (n < 1 || h < 1 || w < 1 || c < 1) throw Error(Code::kData, sizes + ": a size is zero");
  require_sides(h, w, c, kind, sizes);
  const std::uint64_t image = h * w * c * (kind == SampleKind::kPictures ? 1 : 4);  // < 2^45
  if (n > most / image)
    throw Error(Code::kData, sizes + ": more than " + std::to_string(most >> 30) + " GiB");
  return n * image;
}

hash::Digest content_hash(const ImageShape& shape, const std::vector<std::uint8_t>& pixels) {
  return content_hash(shape, hash::tree_digest(std::as_bytes(std::span(pixels))));
}

hash::Digest content_hash(const ImageShape& shape, const hash::Digest& root) {
  Bytes sizes;
  for (const std::int64_t size : {shape.n, shape.h, shape.w, shape.c}) {
    put_u64_le(sizes, static_cast<std::uint64_t>(size));
  }
  return hash::Sha256()
      .update(as_bytes("lockstep " + std::string(word_of(shape.kind)) + " 1\n"))
      .update(sizes)
      .update(root.view())
      .finish();
}

Images::Images(ImageShape shape, std::vector<std::uint8_t> pixels)
    : shape_(shape),
      pixels_(std::move(pixels)),
      sample_shape_(shape.sample_shape()),
      hash_(content_hash(shape_, pixels_)) {
  LOCKSTEP_ASSERT(shape_.n >= 1 &&
                      static_cast<std::uint64_t>(shape_.n * shape_.image_bytes()) == pixels_.size(),
                  std::to_string(pixels_.size()) + " bytes");
}

void Images::read(Sample sample, float* out) const {
  LOCKSTEP_ASSERT(sample.value >= 0 && sample.value < shape_.n,
                  "sample " + std::to_string(sample.value));
  read_image(shape_, pixels_.data() + sample.value * shape_.image_bytes(), out);
}

void read_image(const ImageShape& shape, const std::uint8_t* image, float* out) {
  if (shape.floats())
    std::memcpy(out, image, static_cast<std::size_t>(shape.image_bytes()));
  else
    numerics::Cpu().from_bytes(shape.image_bytes(), image, out);
}

}  // namespace lockstep::data
