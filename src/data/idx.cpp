#include "lockstep/data/idx.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "byte_source.h"
#include "lockstep/core/error.h"
#include "raw_file.h"

namespace lockstep::data {
namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;
constexpr std::size_t kPiece = std::size_t{16} << 20;  // memory is used by this, as bytes arrive

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Code::kData, what, "expected images in IDX format, plain or .gz");
}

std::vector<std::uint8_t> read_exactly(ByteSource& source, std::uint64_t size,
                                       const std::string& what) {
  if (size > source.most()) {
    refuse(what + " should have " + std::to_string(size) +
           " bytes, more than the file can hold: it is truncated");
  }
  std::vector<std::uint8_t> bytes;
  bytes.reserve(size);  // untouched memory costs nothing
  while (bytes.size() < size) {
    const std::size_t old = bytes.size();
    const std::size_t piece = std::min<std::uint64_t>(size - old, kPiece);
    bytes.resize(old + piece);
    const std::size_t got = source.read({bytes.data() + old, piece});
    if (got < piece) {
      refuse(what + " ends after " + std::to_string(old + got) + " of " + std::to_string(size) +
             " bytes: the file is truncated");
    }
  }
  return bytes;
}

struct Header {
  ImageShape shape;
  std::uint64_t bytes = 0;
};

Header read_header(ByteSource& source) {
  const std::vector<std::uint8_t> magic = read_exactly(source, 4, "the header");
  if (magic[0] != 0 || magic[1] != 0) refuse("not an IDX file: wrong magic number");
  if (magic[2] != kUnsignedByte) {
    refuse("IDX of element type " + std::to_string(magic[2]) +
           ", only unsigned bytes (8) are read");
  }
  const int sizes = magic[3];
  if (sizes == 1) refuse("this IDX file has one dimension: labels, not images");
  if (sizes != 3 && sizes != 4) {
    refuse("IDX with " + std::to_string(sizes) + " dimensions, images have 3 or 4");
  }
  std::array<std::uint64_t, 4> d{0, 0, 0, 1};
  const auto text = read_exactly(source, 4 * static_cast<std::uint64_t>(sizes), "the header");
  for (int i = 0; i < sizes; ++i) {
    std::uint64_t value = 0;
    for (int b = 0; b < 4; ++b) value = value << 8 | text[static_cast<std::size_t>(4 * i + b)];
    d[static_cast<std::size_t>(i)] = value;
  }
  const std::uint64_t bytes = checked_image_bytes(d[0], d[1], d[2], d[3]);
  const auto size = [&](std::size_t i) { return static_cast<std::int64_t>(d[i]); };
  return {{size(0), size(1), size(2), size(3)}, bytes};
}

std::unique_ptr<Images> read_images(File& file) {
  const std::unique_ptr<ByteSource> source = open_source(file);
  const Header header = read_header(*source);
  std::vector<std::uint8_t> pixels = read_exactly(*source, header.bytes, "the images");
  source->expect_end();
  return std::make_unique<Images>(header.shape, std::move(pixels));
}

}  // namespace

std::filesystem::path find_idx(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return path;
  for (const char* name : {"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz"}) {
    if (std::filesystem::exists(path / name, error)) return path / name;
  }
  throw Error(Code::kData, path.string() + " has no train-images-idx3-ubyte[.gz]",
              "give a file of images");
}

std::unique_ptr<Images> read_idx(const std::filesystem::path& path) {
  const std::unique_ptr<File> file = open_data_file(path);
  try {
    return read_images(*file);
  } catch (const Error& e) {
    throw Error(Code::kData, path.string() + ": " + e.message(), e.hint());
  } catch (const std::bad_alloc&) {
    throw Error(Code::kData, path.string() + ": not enough memory for its images");
  }
}

}  // namespace lockstep::data
