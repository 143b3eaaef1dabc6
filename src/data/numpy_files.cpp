// Pictures, fields or signals and their labels that NumPy saved: an .npz with both, or an .npy with
// its labels beside it.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/list.h"
#include "npy.h"
#include "picture_stack.h"
#include "raw_file.h"
#include "source_kinds.h"
#include "zip.h"

namespace lockstep::data {
namespace {

namespace stdfs = std::filesystem;
using std::string_view_literals::operator""sv;

constexpr std::array kPictureNames = {"images"sv, "x"sv, "arr_0"sv};
constexpr std::array kLabelNames = {"labels"sv, "y"sv, "arr_1"sv};
constexpr std::string_view kNpy = ".npy", kLabelsEnding = "-labels.npy";
constexpr std::size_t kPiece = std::size_t{16} << 20;  // bytes of pictures in memory
constexpr std::string_view kForms =
    "expected uint8 of [n, h, w], [n, h, w, 1] or [n, h, w, 3], or floats of [n, length], [n, h, "
    "w] or [n, h, w, c]";
// So many channels are not taken for rows, where all other sides are that large.
constexpr std::int64_t kMostFirstChannels = 4, kLeastSide = 8;

bool begins(File& file, std::string_view with) {
  Bytes bytes(with.size());
  return file.read_at(0, bytes) == bytes.size() && std::ranges::equal(bytes, as_bytes(with));
}

bool is_archive(File& file) {
  return begins(file, "PK\3\4") || begins(file, "PK\5\6");  // the second one: empty
}

std::string shape_of(const NpyHead& array) {
  return "[" + joined(array.shape, ", ", [](std::int64_t size) { return std::to_string(size); }) +
         "]";
}

bool is_floats(const NpyHead& array) {
  return array.type[1] == 'f';
}

void require_channels_last(const NpyHead& array) {
  const std::vector<std::int64_t>& s = array.shape;
  if (s.size() == 3 && !is_floats(array) && (s[2] == 3 || s[2] == 4) &&
      std::min(s[0], s[1]) >= kLeastSide)
    throw Error(Code::kData,
                shape_of(array) + " is one picture in colours, or many grey ones that are " +
                    std::to_string(s[2]) + " wide",
                "save x[None] of it, all of [1, h, w, 3], or x[..., None], all of [n, h, w, 1]");
  if (s.size() != 4) return;
  const auto is_colours = [](std::int64_t size) { return size == 1 || size == 3; };
  const bool first = is_floats(array)
                         ? s[1] <= kMostFirstChannels && std::min(s[2], s[3]) >= kLeastSide
                         : is_colours(s[1]) && !is_colours(s[3]);
  if (first)
    throw Error(Code::kData, shape_of(array) + " has its channels before rows and columns",
                "save numpy.transpose(…, (0, 2, 3, 1)) of it");
}

std::uint64_t checked(const ImageShape& s) {
  const auto u = [](std::int64_t size) { return static_cast<std::uint64_t>(size); };
  return checked_image_bytes(u(s.n), u(s.h), u(s.w), u(s.c), kMaxShardedBytes, s.kind);
}

ImageShape shape_of_floats(const NpyHead& array) {
  std::vector<std::int64_t> s = array.shape;
  if (s.size() == 2) return {s[0], 1, s[1], 1, SampleKind::kSignals};
  if (s.size() == 3) s.push_back(1);
  if (s.size() != 4)
    throw Error(Code::kData, shape_of(array) + " is no shape of fields or signals",
                std::string(kForms));
  return {s[0], s[1], s[2], s[3], SampleKind::kFields};
}

ImageShape image_shape_of(const NpyHead& array) {
  require_channels_last(array);
  if (is_floats(array)) {
    const ImageShape shape = shape_of_floats(array);
    checked(shape);
    return shape;
  }
  std::vector<std::int64_t> s = array.shape;
  if (s.size() == 3) s.push_back(1);
  if (s.size() != 4)
    throw Error(Code::kData, shape_of(array) + " is no shape of pictures", std::string(kForms));
  if (array.type.substr(1) != "u1")
    throw Error(Code::kData, "its values are of type " + array.type, std::string(kForms));
  const ImageShape shape{s[0], s[1], s[2], s[3]};
  checked(shape);
  return shape;
}

Labels labels_of(const NpyArray& array, std::int64_t images) {
  const bool flat = array.shape.size() == 1 || (array.shape.size() == 2 && array.shape[1] == 1);
  if (!flat || (array.type[1] != 'i' && array.type[1] != 'u'))
    throw Error(Code::kData, "labels of type " + array.type + " and shape " + shape_of(array),
                "expected whole numbers, one a sample");
  if (array.shape[0] != images)
    throw Error(Code::kData, counted(array.shape[0], "label") + " for " + counted(images, "sample"),
                "give the labels of these samples, one a sample");
  Labels labels;
  for (std::int64_t i = 0; i < images; ++i) {
    const auto label = integer_at(array, i);
    if (!label || *label >= kMostClasses)
      throw Error(Code::kData, "the label of sample " + std::to_string(i) + " is not from 0 to " +
                                   std::to_string(kMostClasses - 1));
    labels.push_back(static_cast<std::uint32_t>(*label));
  }
  return labels;
}

NpyArray array_in(File& file) {
  std::vector<std::uint8_t> bytes(kMostNpyHead);
  const auto read = [&] {
    bytes.resize(file.read_at(0, std::as_writable_bytes(std::span(bytes))));
  };
  read();
  parse_npy_head(bytes, file.size());  // what is allocated next is there
  bytes.resize(file.size());
  read();
  return parse_npy(std::move(bytes));
}

// An array in a file of its own, piece by piece.
void read_pictures(File& file, PictureStack& stack) {
  std::vector<std::uint8_t> piece(kMostNpyHead);
  const auto read = [&](std::uint64_t at) {
    return file.read_at(at, std::as_writable_bytes(std::span(piece)));
  };
  piece.resize(read(0));
  const NpyHead head = parse_npy_head(piece, file.size());
  const ImageShape shape = image_shape_of(head);
  std::optional<NpyFloats> floats;
  if (shape.floats()) floats.emplace(head);
  const std::uint64_t end = file.size();  // the head fits to it
  for (std::uint64_t at = head.begin; at < end; at += piece.size()) {
    piece.resize(std::min<std::uint64_t>(kPiece, end - at));
    if (read(at) != piece.size()) throw Error(Code::kData, "cut off");
    stack.add(shape, floats ? floats->next(piece) : piece);
  }
}

// The first of these that an archive has.
std::optional<NpyArray> array_in(File& archive, std::span<const std::string_view> names) {
  const std::vector<ZipMember> members = zip_members(archive);
  for (const std::string_view name : names) {
    const auto member =
        std::ranges::find(members, std::string(name) + std::string(kNpy), &ZipMember::name);
    if (member == members.end()) continue;
    try {
      return parse_npy(zip_contents(archive, *member));
    } catch (const Error& e) {
      throw e.within(member->name);
    }
  }
  return std::nullopt;
}

void read_archive(File& archive, bool labels_wanted, LabelledImages& all, PictureStack& stack) {
  auto pictures = array_in(archive, kPictureNames);
  if (!pictures)
    throw Error(
        Code::kData, "no array of it is called images, x or arr_0",
        "save the pictures by numpy.savez(…, images=…, labels=…); unpack a zip file of pictures");
  const ImageShape shape = image_shape_of(*pictures);
  if (shape.floats()) pictures->values = NpyFloats(*pictures).next(pictures->values);
  stack.add(std::make_unique<Images>(shape, std::move(pictures->values)));
  if (!labels_wanted) return;
  if (const auto labels = array_in(archive, kLabelNames))
    all.labels = labels_of(*labels, stack.count());
}

// "faces.npy": "faces-labels.npy"
stdfs::path labels_beside(stdfs::path path) {
  return path.replace_filename(path.stem().string() + std::string(kLabelsEnding));
}

}  // namespace

bool is_numpy(const stdfs::path& path) {
  std::error_code error;
  if (!stdfs::is_regular_file(path, error)) return false;
  const auto file = open_data_file(path);
  return is_archive(*file) || begins(*file, "\x93NUMPY");
}

Source read_numpy(const stdfs::path& path, const SourceOptions& options, PictureStack& stack) {
  const bool own_labels = options.labels_wanted && options.labels.empty();
  Source source;
  source.all.labels_from = path;
  const bool archive = with_data_file(path, "its arrays", [&](File& file) {
    if (is_archive(file))
      read_archive(file, own_labels, source.all, stack);
    else
      read_pictures(file, stack);
    return is_archive(file);
  });
  std::error_code error;
  if (const stdfs::path beside = labels_beside(path);
      !archive && own_labels && stdfs::exists(beside, error)) {
    source.all.labels_from = beside;
    source.all.labels = with_data_file(
        beside, "its arrays", [&](File& file) { return labels_of(array_in(file), stack.count()); });
  }
  return source;
}

}  // namespace lockstep::data
