// Floats of NumPy as binary32.
#include <bit>
#include <cstring>

#include "lockstep/core/error.h"
#include "lockstep/core/finite.h"
#include "lockstep/core/text.h"
#include "npy.h"

namespace lockstep::data {
namespace {

template <class Word>
Word word_at(const std::uint8_t* at, bool big) {
  Word word = 0;
  for (std::size_t k = 0; k < sizeof(Word); ++k)
    word = static_cast<Word>(word << 8 | at[big ? k : sizeof(Word) - 1 - k]);
  return word;
}

}  // namespace

NpyFloats::NpyFloats(const NpyHead& array)
    : big_(array.type[0] == '>'), double_(array.type[2] == '8') {
  LOCKSTEP_ASSERT(array.type[1] == 'f', array.type);
  if (array.type[2] != '4' && array.type[2] != '8')
    throw Error(Code::kData, "its values are of type " + array.type, "save numpy.float32(…) of it");
  sample_.assign(array.shape.begin() + 1, array.shape.end());
}

std::vector<std::uint8_t> NpyFloats::next(std::span<const std::uint8_t> values) {
  const std::size_t bytes = double_ ? 8 : 4;
  LOCKSTEP_ASSERT(values.size() % bytes == 0);
  std::vector<std::uint8_t> floats(values.size() / bytes * 4);
  for (std::size_t i = 0; i * bytes < values.size(); ++i, ++done_) {
    const std::uint8_t* at = values.data() + i * bytes;
    const double value = double_ ? std::bit_cast<double>(word_at<std::uint64_t>(at, big_))
                                 : std::bit_cast<float>(word_at<std::uint32_t>(at, big_));
    const auto rounded = static_cast<float>(value);  // to nearest, ties to even
    if (!is_finite(rounded)) refuse(value);
    std::memcpy(floats.data() + 4 * i, &rounded, 4);
  }
  return floats;
}

void NpyFloats::refuse(double value) const {
  std::int64_t sample = done_;
  std::string place;
  for (auto side = sample_.rbegin(); side != sample_.rend(); ++side) {
    place = std::to_string(sample % *side) + (place.empty() ? "" : ", ") + place;
    sample /= *side;
  }
  throw Error(Code::kData,
              "sample " + std::to_string(sample) + " has " + to_text(value) + " at [" + place + "]",
              "save finite values that float32 can hold");
}

}  // namespace lockstep::data
