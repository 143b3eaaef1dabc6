#include "lockstep/data/images.h"

#include <string>
#include <utility>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/hash/merkle.h"
#include "lockstep/numerics/cpu.h"

namespace lockstep::data {

std::uint64_t checked_image_bytes(std::uint64_t n, std::uint64_t h, std::uint64_t w,
                                  std::uint64_t c, std::uint64_t most) {
  const std::string sizes = counted(n, "image") + " of " + std::to_string(h) + "x" +
                            std::to_string(w) + "x" + std::to_string(c);
  if (n < 1 || h < 1 || w < 1) throw Error(Code::kData, sizes + ": a size is zero");
  if (c != 1 && c != 3) throw Error(Code::kData, sizes + ": only 1 or 3 channels are supported");
  if (h > 65535 || w > 65535) throw Error(Code::kData, sizes + ": more than 65535 pixels a side");
  const std::uint64_t image = h * w * c;  // < 2^34
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
      .update(as_bytes("lockstep images 1\n"))
      .update(sizes)
      .update(root.view())
      .finish();
}

Images::Images(ImageShape shape, std::vector<std::uint8_t> pixels)
    : shape_(shape),
      pixels_(std::move(pixels)),
      sample_shape_{shape.h, shape.w, shape.c},
      hash_(content_hash(shape_, pixels_)) {
  LOCKSTEP_ASSERT(shape_.n >= 1 &&
                      static_cast<std::uint64_t>(shape_.n * shape_.image_bytes()) == pixels_.size(),
                  std::to_string(pixels_.size()) + " bytes");
}

void Images::read(Sample sample, float* out) const {
  LOCKSTEP_ASSERT(sample.value >= 0 && sample.value < shape_.n,
                  "sample " + std::to_string(sample.value));
  const std::int64_t bytes = shape_.image_bytes();
  numerics::Cpu().from_bytes(bytes, pixels_.data() + sample.value * bytes, out);
}

}  // namespace lockstep::data
