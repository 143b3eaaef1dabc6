#include "lockstep/data/idx.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "byte_source.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/data/shards.h"
#include "raw_file.h"

namespace lockstep::data {
namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;
constexpr std::size_t kPiece = std::size_t{16} << 20;  // memory is used by this, as bytes arrive
constexpr std::string_view kGzip = ".gz";

// As CIFAR is downloaded.
constexpr std::string_view kTar =
    ", but a tar archive: unpack it by `tar -xf`, and give `lockstep pack` the folder with its "
    "files";

// What people give instead, by its first bytes. advised: with what to do about it.
std::string other_format(const std::vector<std::uint8_t>& magic, bool advised) {
  struct Format {
    std::array<std::uint8_t, 4> magic;
    const char *words, *advice;
  };
  constexpr const char* kPacked = "`lockstep pack` makes a data set of it";
  constexpr const char* kFolder = "`lockstep pack` takes the folder that it lies in";
  static constexpr Format kFormats[] = {
      {{0x93, 'N', 'U', 'M'}, "a NumPy array", kPacked},
      {{'P', 'K', 3, 4}, "a zip archive", "`lockstep pack` reads one of NumPy; unpack others"},
      {{0x89, 'P', 'N', 'G'}, "a PNG file", kFolder},
      {{0xff, 0xd8, 0xff, 0xe0}, "a JPEG file", kFolder},
      {{0xff, 0xd8, 0xff, 0xe1}, "a JPEG file", kFolder},
      {{'P', 'A', 'R', '1'}, "a Parquet file", "save its pictures as PNG files, or by numpy.savez"},
      {{'R', 'I', 'F', 'F'}, "a WebP file", "save its picture as PNG"}};
  for (const Format& format : kFormats)
    if (std::ranges::equal(format.magic, magic))
      return std::string(", but ") + format.words +
             (advised ? std::string(": ") + format.advice : std::string());
  return ": wrong magic number";
}

// One IDX file, read forward.
class Reader {
 public:
  // what: "images", "labels"; expected: the hint of a refusal.
  Reader(File& file, std::string what, std::string expected)
      : source_(open_source(file)), what_(std::move(what)), expected_(std::move(expected)) {
    if (source_->most() == 0) refuse("the file is empty");
  }

  // The sizes in the header.
  std::vector<std::uint64_t> header() {
    const std::vector<std::uint8_t> magic = exactly(4, "the header");
    if (magic[0] != 0 || magic[1] != 0)
      refuse("not an IDX file" +
             (is_tar() ? std::string(kTar) : other_format(magic, what_ == "images")));
    if (magic[2] != kUnsignedByte) {
      refuse("IDX of element type " + std::to_string(magic[2]) +
             ", only unsigned bytes (8) are read");
    }
    const std::size_t count = magic[3];
    if (count != 1 && count != 3 && count != 4) {
      refuse("IDX with " + std::to_string(count) + " dimensions, images have 3 or 4, labels 1");
    }
    const std::vector<std::uint8_t> text = exactly(4 * count, "the header");
    std::vector<std::uint64_t> sizes(count);
    for (std::size_t i = 0; i < text.size(); ++i) sizes[i / 4] = sizes[i / 4] << 8 | text[i];
    return sizes;
  }

  // All the values; then the file must end.
  std::vector<std::uint8_t> values(std::uint64_t size) {
    std::vector<std::uint8_t> bytes = exactly(size, "the " + what_);
    source_->expect_end();
    return bytes;
  }

  // The same, piece by piece.
  void values(std::uint64_t size, const std::function<void(std::span<const std::uint8_t>)>& take) {
    require_room(size, "the " + what_);
    std::vector<std::uint8_t> bytes;
    for (std::uint64_t at = 0; at < size; at += bytes.size()) {
      bytes.resize(std::min<std::uint64_t>(size - at, kPiece));
      read_piece(bytes, at, size, "the " + what_);
      take(bytes);
    }
    source_->expect_end();
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(Code::kData, why, expected_);
  }

 private:
  // Whose first four bytes are read: POSIX ustar, and what GNU makes of it.
  bool is_tar() {
    constexpr std::string_view kMagic = "ustar";
    std::array<std::uint8_t, 257 - 4 + kMagic.size()> rest{};
    return source_->read(rest) == rest.size() &&
           std::ranges::equal(std::span(rest).last(kMagic.size()), kMagic);
  }

  void require_room(std::uint64_t size, const std::string& what) const {
    if (size <= source_->most()) return;
    refuse(what + " should have " + std::to_string(size) +
           " bytes, more than the file can hold: it is truncated");
  }

  // Byte `at` of `size` and those behind it.
  void read_piece(std::span<std::uint8_t> into, std::uint64_t at, std::uint64_t size,
                  const std::string& what) {
    const std::size_t got = source_->read(into);
    if (got == into.size()) return;
    refuse(what + " ends after " + std::to_string(at + got) + " of " + std::to_string(size) +
           " bytes: the file is truncated");
  }

  std::vector<std::uint8_t> exactly(std::uint64_t size, const std::string& what) {
    require_room(size, what);
    std::vector<std::uint8_t> bytes;
    bytes.reserve(size);  // untouched memory costs nothing
    while (bytes.size() < size) {
      const std::size_t old = bytes.size();
      const std::size_t piece = std::min<std::uint64_t>(size - old, kPiece);
      bytes.resize(old + piece);
      read_piece({bytes.data() + old, piece}, old, size, what);
    }
    return bytes;
  }

  std::unique_ptr<ByteSource> source_;
  std::string what_, expected_;
};

Reader reader_of_images(File& file) {
  return {file, "images", "expected images in IDX format, plain or .gz"};
}

// Of at most `most` bytes in all.
ImageShape shape_in(Reader& reader, std::uint64_t most) {
  std::vector<std::uint64_t> d = reader.header();
  if (d.size() == 1) reader.refuse("this IDX file has one dimension: labels, not images");
  if (d.size() == 3) d.push_back(1);
  checked_image_bytes(d[0], d[1], d[2], d[3], most);
  const auto size = [&](std::size_t i) { return static_cast<std::int64_t>(d[i]); };
  return {size(0), size(1), size(2), size(3)};
}

std::uint64_t bytes_in(const ImageShape& shape) {
  return static_cast<std::uint64_t>(shape.n * shape.image_bytes());
}

std::unique_ptr<Images> images_in(File& file) {
  Reader reader = reader_of_images(file);
  const ImageShape shape = shape_in(reader, kMaxImageBytes);
  return std::make_unique<Images>(shape, reader.values(bytes_in(shape)));
}

Labels labels_in(File& file, std::int64_t images) {
  Reader reader(
      file, "labels",
      "expected labels in IDX format, plain or .gz; those of NumPy come with the pictures: "
      "numpy.savez(\"data.npz\", images=…, labels=…)");
  const std::vector<std::uint64_t> d = reader.header();
  if (d.size() != 1) reader.refuse("this IDX file has several dimensions: images, not labels");
  if (std::cmp_not_equal(d[0], images))
    throw Error(Code::kData, counted(d[0], "label") + " for " + counted(images, "image"),
                "give the labels of these images, one an image");
  const std::vector<std::uint8_t> values = reader.values(d[0]);
  return {values.begin(), values.end()};
}

std::optional<std::filesystem::path> idx_in(const std::filesystem::path& folder) {
  std::error_code error;
  for (const char* name : {"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz"}) {
    if (std::filesystem::exists(folder / name, error)) return folder / name;
  }
  return std::nullopt;
}

}  // namespace

std::filesystem::path find_idx(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return path;
  if (const auto found = idx_in(path)) return *found;
  throw Error(Code::kData, path.string() + " has no train-images-idx3-ubyte[.gz]",
              "give a file of images; `lockstep pack` makes one of a folder of pictures");
}

bool has_idx(const std::filesystem::path& path) {
  return idx_in(path).has_value();
}

std::string name_of_labels(const std::filesystem::path& images) {
  std::string name = images.filename().string();
  if (name.ends_with(kGzip)) name.resize(name.size() - kGzip.size());
  for (const std::string_view part : {"images-idx3", "images-idx4"}) {
    const std::size_t at = name.rfind(part);
    if (at != std::string::npos) return name.replace(at, part.size(), "labels-idx1");
  }
  return "";
}

std::optional<std::filesystem::path> find_labels(const std::filesystem::path& images) {
  const std::string name = name_of_labels(images);
  if (name.empty()) return std::nullopt;
  std::error_code error;
  for (const std::string_view ending : {std::string_view(), kGzip}) {
    const std::filesystem::path path = images.parent_path() / (name + std::string(ending));
    if (std::filesystem::exists(path, error)) return path;
  }
  return std::nullopt;
}

std::unique_ptr<Images> read_idx(const std::filesystem::path& path) {
  return with_data_file(path, "its images", images_in);
}

void stream_idx(const std::filesystem::path& path, const PixelSink& take) {
  with_data_file(path, "its images", [&](File& file) {
    Reader reader = reader_of_images(file);
    const ImageShape shape = shape_in(reader, kMaxShardedBytes);
    reader.values(bytes_in(shape),
                  [&](std::span<const std::uint8_t> pixels) { take(shape, pixels); });
  });
}

Labels read_idx_labels(const std::filesystem::path& path, std::int64_t images) {
  return with_data_file(path, "its labels", [&](File& file) { return labels_in(file, images); });
}

}  // namespace lockstep::data
