#include "lockstep/data/pack.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/core/text.h"
#include "lockstep/hash/merkle.h"
#include "lockstep/hdf5/canonical.h"
#include "raw_file.h"

namespace lockstep::data {
namespace {

constexpr std::int64_t kVersion = 1, kVersionWithLabels = 2, kVersionWithNames = 3;
constexpr std::array kKinds = {SampleKind::kPictures, SampleKind::kFields, SampleKind::kSignals};
// The stamp lies in the root group's header, in the first kilobytes of the file.
constexpr std::size_t kSearched = std::size_t{64} << 10;
constexpr std::size_t kLongestStamp = 320;
constexpr std::size_t kPiece = std::size_t{16} << 20;
constexpr std::uint64_t kMostNames = kMostClasses * (kLongestClassName + 1);  // bytes
constexpr std::array<unsigned char, 8> kSignature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Code::kData, what, "make the file again with 'lockstep pack'");
}

struct NamesStamp {
  std::uint64_t bytes = 0;
  hash::Digest hash;
};

struct Stamp {
  ImageShape shape;
  hash::Digest hash;                     // of the images
  std::optional<hash::Digest> labelled;  // with their labels
  std::optional<NamesStamp> names;       // of their classes

  std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(shape.n * shape.image_bytes() +
                                      (labelled ? 4 * shape.n : 0)) +
           (names ? names->bytes : 0);
  }
  std::int64_t version() const {
    if (names) return kVersionWithNames;
    return labelled ? kVersionWithLabels : kVersion;
  }
};

Stamp stamp_of(const Images& images, const Labels& labels, const std::string& names) {
  Stamp stamp{images.shape(), images.hash(), std::nullopt, std::nullopt};
  if (!labels.empty()) stamp.labelled = labelled_hash(images.hash(), labels);
  if (!names.empty()) stamp.names = {names.size(), hash::sha256(as_bytes(names))};
  return stamp;
}

std::string format_of(SampleKind kind) {
  return "lockstep " + std::string(word_of(kind));
}

// How the stamp begins: "lockstep images 1 ".
std::string stamp_begin(SampleKind kind, std::int64_t version) {
  return format_of(kind) + " " + std::to_string(version) + " ";
}

std::string text_of(const Stamp& stamp) {
  std::string text = stamp_begin(stamp.shape.kind, stamp.version());
  for (const std::int64_t size : {stamp.shape.n, stamp.shape.h, stamp.shape.w, stamp.shape.c}) {
    text += std::to_string(size) + " ";
  }
  text += stamp.hash.hex();
  if (stamp.labelled) text += " " + stamp.labelled->hex();
  if (stamp.names) text += " " + std::to_string(stamp.names->bytes) + " " + stamp.names->hash.hex();
  return text;
}

// Everything in the file except images, labels and names follows from its stamp.
hdf5::Skeleton skeleton_of(const Stamp& stamp) {
  const ImageShape& s = stamp.shape;
  std::vector<std::int64_t> sizes = s.sample_shape();
  sizes.insert(sizes.begin(), s.n);
  std::vector<hdf5::DatasetSpec> datasets{{"/" + std::string(word_of(s.kind)),
                                           s.floats() ? hdf5::Type::kF32 : hdf5::Type::kU8,
                                           std::move(sizes)}};
  std::vector<hdf5::Attribute> attributes{{"format", format_of(s.kind)},
                                          {"version", stamp.version()},
                                          {"content_hash", stamp.hash.hex()}};
  if (stamp.labelled) {
    datasets.push_back({"/labels", hdf5::Type::kU32, {s.n}});
    attributes.push_back({"labelled_hash", stamp.labelled->hex()});
  }
  if (stamp.names)
    datasets.push_back(
        {"/classes", hdf5::Type::kU8, {static_cast<std::int64_t>(stamp.names->bytes)}});
  attributes.push_back({"stamp", text_of(stamp)});
  return hdf5::make_skeleton(datasets, attributes);
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// `text` goes on behind the stamp with other bytes of the file.
Stamp parse_stamp(std::string_view text, SampleKind kind, std::int64_t version) {
  const std::vector<std::string_view> words = words_of(text);
  const auto number = [&](std::size_t i) {
    const auto value = i < words.size() ? parse_int(words[i]) : std::nullopt;
    if (!value || *value < 0) refuse("the stamp has no sizes");
    return *value;
  };
  const auto digest = [&](std::size_t i) {
    const auto value =
        i < words.size() ? hash::Digest::parse(words[i].substr(0, 64)) : std::nullopt;
    if (!value) refuse("the stamp has no hash");
    return *value;
  };
  const auto u = [&](std::size_t i) { return static_cast<std::uint64_t>(number(i)); };
  checked_image_bytes(u(0), u(1), u(2), u(3), kMaxImageBytes, kind);
  Stamp stamp{{number(0), number(1), number(2), number(3), kind}, digest(4), {}, {}};
  if (version >= kVersionWithLabels) stamp.labelled = digest(5);
  if (version < kVersionWithNames) return stamp;
  stamp.names = {u(6), digest(7)};
  if (stamp.names->bytes == 0 || stamp.names->bytes > kMostNames)
    refuse("the stamp has no size of its names");
  return stamp;
}

Bytes read_bytes(File& file, std::uint64_t offset, std::uint64_t size) {
  Bytes bytes(size);
  bytes.resize(file.read_at(offset, bytes));
  return bytes;
}

Stamp find_stamp(File& file) {
  const Bytes head = read_bytes(file, 0, kSearched);
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  std::size_t first = std::string_view::npos;  // behind it names of classes may read likewise
  std::optional<std::pair<SampleKind, std::int64_t>> found;
  for (const SampleKind kind : kKinds) {
    for (const std::int64_t version : {kVersion, kVersionWithLabels, kVersionWithNames}) {
      const std::size_t at = text.find(stamp_begin(kind, version));
      if (at < first) found = {kind, version};
      first = std::min(first, at);
    }
  }
  if (found) {
    const auto& [kind, version] = *found;
    return parse_stamp(text.substr(first + stamp_begin(kind, version).size(), kLongestStamp), kind,
                       version);
  }
  refuse("an HDF5 file, but not a packed data file of version 1, 2 or 3");
}

void check_metadata(File& file, const hdf5::Skeleton& skeleton) {
  if (file.size() != skeleton.length) {
    refuse("the file has " + std::to_string(file.size()) + " bytes instead of " +
           std::to_string(skeleton.length) + ": truncated or damaged");
  }
  for (const auto& piece : skeleton.metadata) {
    const Bytes there = read_bytes(file, piece.offset, piece.bytes.size());
    const auto differs =
        std::mismatch(piece.bytes.begin(), piece.bytes.end(), there.begin(), there.end());
    if (differs.first != piece.bytes.end()) {
      refuse("damaged at byte " +
             std::to_string(piece.offset +
                            static_cast<std::uint64_t>(differs.first - piece.bytes.begin())));
    }
  }
}

std::vector<std::uint8_t> read_extent(File& file, const hdf5::Extent& extent) {
  std::vector<std::uint8_t> bytes(extent.bytes);
  for (std::uint64_t at = 0; at < extent.bytes; at += kPiece) {
    const std::uint64_t n = std::min<std::uint64_t>(kPiece, extent.bytes - at);
    const std::span<std::uint8_t> piece(bytes.data() + at, n);
    if (file.read_at(extent.offset + at, std::as_writable_bytes(piece)) != n) refuse("truncated");
  }
  return bytes;
}

Labels read_labels(File& file, const hdf5::Extent& extent) {
  const std::vector<std::uint8_t> bytes = read_extent(file, extent);
  Labels labels;
  labels.reserve(bytes.size() / 4);
  for (std::size_t at = 0; at < bytes.size(); at += 4)
    labels.push_back(get_u32_le(std::as_bytes(std::span(bytes).subspan(at, 4))));
  return labels;
}

void require_hash(const std::string& what, const hash::Digest& is, const hash::Digest& stated) {
  if (is == stated) return;
  refuse("the " + what + " have the content hash " + is.hex() + ", the file states " +
         stated.hex());
}

// Where things are. The metadata and the length are checked, so what is allocated next is there.
struct Layout {
  Stamp stamp;
  hdf5::Skeleton skeleton;
};

Layout layout_of(File& file) {
  const Stamp stamp = find_stamp(file);
  if (file.size() < stamp.bytes()) {
    refuse("the file is smaller than its " + std::string(word_of(stamp.shape.kind)) +
           ": truncated or damaged");
  }
  Layout layout{stamp, skeleton_of(stamp)};
  check_metadata(file, layout.skeleton);
  return layout;
}

ClassNames read_names(File& file, const hdf5::Extent& extent, const hash::Digest& stated) {
  const std::vector<std::uint8_t> bytes = read_extent(file, extent);
  require_hash("names of classes", hash::sha256(std::as_bytes(std::span(bytes))), stated);
  try {
    return parse_class_names({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const Error& error) {
    refuse(error.message());
  }
}

// Labels and names of classes.
void take_labels(File& file, const Layout& layout, LabelledImages& all) {
  if (!layout.stamp.labelled) return;
  all.labels = read_labels(file, layout.skeleton.datasets.at(1));
  require_hash("labels", labelled_hash(layout.stamp.hash, all.labels), *layout.stamp.labelled);
  if (!layout.stamp.names) return;
  all.classes = read_names(file, layout.skeleton.datasets.at(2), layout.stamp.names->hash);
  if (all.classes.size() < counts_of(all.labels).size())
    refuse("it has " + std::to_string(all.classes.size()) + " names of classes, and more labels");
}

LabelledImages read_contents(File& file) {
  const Layout layout = layout_of(file);
  LabelledImages all;
  all.images = std::make_unique<Images>(layout.stamp.shape,
                                        read_extent(file, layout.skeleton.datasets.at(0)));
  require_hash(std::string(word_of(layout.stamp.shape.kind)), all.images->hash(),
               layout.stamp.hash);
  take_labels(file, layout, all);
  return all;
}

LabelledImages stream_contents(File& file, const PixelSink& take) {
  static_assert(kPiece % hash::kBlockBytes == 0);
  const Layout layout = layout_of(file);
  std::vector<hash::Digest> leaves;
  hdf5::Extent piece = layout.skeleton.datasets.at(0);
  const std::uint64_t bytes = piece.bytes, end = piece.offset + bytes;
  for (; piece.offset < end; piece.offset += piece.bytes) {
    piece.bytes = std::min<std::uint64_t>(kPiece, end - piece.offset);
    const std::vector<std::uint8_t> pixels = read_extent(file, piece);
    std::ranges::copy(hash::block_digests(std::as_bytes(std::span(pixels))),
                      std::back_inserter(leaves));
    take(layout.stamp.shape, pixels);
  }
  require_hash(std::string(word_of(layout.stamp.shape.kind)),
               content_hash(layout.stamp.shape, hash::tree_root(leaves, bytes)), layout.stamp.hash);
  LabelledImages all;
  take_labels(file, layout, all);
  return all;
}

}  // namespace

void write_pack(const std::filesystem::path& path, const Images& images, const Labels& labels,
                const ClassNames& classes) {
  LOCKSTEP_ASSERT(labels.empty() || std::cmp_equal(labels.size(), images.size()));
  LOCKSTEP_ASSERT(classes.empty() || classes.size() >= counts_of(labels).size());
  require_class_names(classes);
  const Bytes label_bytes = bytes_of(labels);
  const std::string names = labels.empty() ? "" : data::text_of(classes);
  std::vector<ByteView> contents{std::as_bytes(std::span(images.pixels()))};
  if (!labels.empty()) contents.emplace_back(label_bytes);
  if (!names.empty()) contents.emplace_back(as_bytes(names));
  hdf5::publish(real_file_system(), path, skeleton_of(stamp_of(images, labels, names)), contents);
}

std::optional<PackHashes> stated_hashes(const std::filesystem::path& path) {
  try {
    const Stamp stamp = with_data_file(path, "its stamp", find_stamp);
    return PackHashes{stamp.hash, stamp.labelled};
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool is_pack(const std::filesystem::path& path) {
  const Bytes head = read_bytes(*open_data_file(path), 0, kSignature.size());
  const ByteView signature = std::as_bytes(std::span(kSignature));
  return std::equal(head.begin(), head.end(), signature.begin(), signature.end());
}

LabelledImages read_pack(const std::filesystem::path& path) {
  return with_data_file(path, "its images", read_contents);
}

LabelledImages stream_pack(const std::filesystem::path& path, const PixelSink& take) {
  return with_data_file(path, "its images",
                        [&](File& file) { return stream_contents(file, take); });
}

}  // namespace lockstep::data
