// The data set that lies in shards.
#include "lockstep/data/shards.h"

#include <array>
#include <set>
#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/core/foreign.h"
#include "sharded_bytes.h"

namespace lockstep::data {
namespace {

namespace stdfs = std::filesystem;

// Of 16 TiB it has 70 MiB of nodes and 20 MiB of files.
constexpr std::uint64_t kLongestIndex = std::uint64_t{128} << 20;

ShardsIndex index_in(const stdfs::path& folder) {
  const stdfs::path path = folder / kShardsIndex;
  try {
    return parse_shards_index(read_text(real_file_system(), path, kLongestIndex, Code::kData));
  } catch (const Error& e) {
    const bool named = e.message().find(path.string()) != std::string::npos;
    throw Error(Code::kData, (named ? "" : path.string() + ": ") + e.message(), e.hint());
  }
}

std::vector<const ShardedStream*> streams_of(const ShardsIndex& index) {
  std::vector<const ShardedStream*> streams{&index.pixels};
  if (index.labels) streams.push_back(&*index.labels);
  return streams;
}

class ShardedImages : public Dataset {
 public:
  ShardedImages(const stdfs::path& folder, ShardsIndex index, std::int64_t classes,
                std::uint64_t cache_bytes)
      : folder_(folder),
        shape_(index.shape),
        sample_shape_(shape_.sample_shape()),
        classes_(classes),
        hash_(classes > 0 ? *index.labelled : index.hash),
        counts_(index.classes.begin(), index.classes.end()),
        names_(classes > 0 ? std::move(index.names) : ClassNames()),
        pixels_(folder, std::move(index.pixels), cache_bytes) {
    counts_.resize(static_cast<std::size_t>(classes));
    if (classes > 0) labels_.emplace(folder, std::move(*index.labels), cache_bytes / 4);
  }

  std::int64_t size() const override { return shape_.n; }
  const std::vector<std::int64_t>& sample_shape() const override { return sample_shape_; }
  const hash::Digest& hash() const override { return hash_; }
  std::int64_t classes() const override { return classes_; }
  std::vector<std::int64_t> class_counts() const override { return counts_; }
  ClassNames class_names() const override { return names_; }

  void read(Sample sample, float* out) const override {
    require(sample);
    const std::int64_t bytes = shape_.image_bytes();
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(bytes));
    pixels_.read(static_cast<std::uint64_t>(sample.value * bytes), pixels);
    read_image(shape_, pixels.data(), out);
  }

  std::int64_t label(Sample sample) const override {
    require(sample);
    LOCKSTEP_ASSERT(labels_.has_value());
    std::array<std::uint8_t, 4> bytes{};
    labels_->read(static_cast<std::uint64_t>(sample.value) * 4, bytes);
    const std::int64_t label = get_u32_le(std::as_bytes(std::span(bytes)));
    // The index counts classes, and its counts are as true as its writer.
    if (label >= classes_) refuse_label(folder_, sample.value, label, classes_, label);
    return label;
  }

 private:
  void require(Sample sample) const {
    LOCKSTEP_ASSERT(sample.value >= 0 && sample.value < shape_.n,
                    "sample " + std::to_string(sample.value));
  }

  const stdfs::path folder_;
  const ImageShape shape_;
  const std::vector<std::int64_t> sample_shape_;
  const std::int64_t classes_;
  const hash::Digest hash_;
  std::vector<std::int64_t> counts_;  // as the index has them
  const ClassNames names_;
  const ShardedBytes pixels_;
  std::optional<ShardedBytes> labels_;
};

// Finds for each file the first thing that is wrong.
class Verifier {
 public:
  Verifier(const stdfs::path& folder, const std::function<void()>& slice_done)
      : folder_(folder), slice_done_(slice_done) {}

  void stream(const ShardedStream& stream,
              const std::function<void(std::span<const std::uint8_t>)>& each = {}) {
    const ShardedBytes bytes(folder_, stream, 0);
    for (const auto& [file, line] : bytes.misfits()) add(file, line);
    bytes.read_all(
        [&](std::span<const std::uint8_t> slice) {
          if (each) each(slice);
          slice_done_();
        },
        [&](const std::string& shard, const std::string& line) {
          // Leaves that are not right spoil slices of several shards.
          const std::string tree = (folder_ / stream.tree_name()).string();
          add(line.find(tree) == std::string::npos ? shard : tree, line);
          slice_done_();
        });
  }

  std::vector<std::string> findings;

 private:
  void add(const std::string& file, const std::string& line) {
    if (files_.insert(file).second) findings.push_back(line);
  }

  const stdfs::path& folder_;
  const std::function<void()>& slice_done_;
  std::set<std::string> files_;
};

// Adds the labels of a slice.
void count(std::span<const std::uint8_t> labels, std::vector<std::uint64_t>& classes) {
  for (std::size_t at = 0; at < labels.size(); at += 4) {
    const std::uint32_t label = get_u32_le(std::as_bytes(labels.subspan(at, 4)));
    if (label >= kMostClasses) continue;  // no index counts it
    if (label >= classes.size()) classes.resize(label + 1);
    ++classes[label];
  }
}

}  // namespace

bool is_sharded(const stdfs::path& path) {
  std::error_code error;
  return stdfs::is_regular_file(path / kShardsIndex, error);
}

ShardsIndex read_shards_index(const stdfs::path& folder) {
  ShardsIndex index = index_in(folder);
  for (const ShardedStream* stream : streams_of(index))
    for (const auto& [file, line] : ShardedBytes(folder, *stream, 0).misfits())
      throw Error(Code::kData, line, kPutShardBack);
  return index;
}

std::unique_ptr<Dataset> open_sharded(const stdfs::path& folder, std::int64_t classes,
                                      std::uint64_t cache_bytes) {
  ShardsIndex index = read_shards_index(folder);
  if (classes > 0 && !index.labels)
    throw Error(Code::kData, folder.string() + ": shards without labels",
                "give their file by data.labels, or set data.classes to 0");
  if (const auto there = std::ssize(index.classes); classes > 0 && there > classes)
    throw Error(Code::kData,
                folder.string() + ": its labels go up to " + std::to_string(there - 1) +
                    ", and data.classes is " + std::to_string(classes),
                "set data.classes to " + std::to_string(there) + " or more");
  return std::make_unique<ShardedImages>(folder, std::move(index), classes, cache_bytes);
}

LabelledImages stream_shards(
    const stdfs::path& folder,
    const std::function<void(const ImageShape&, std::span<const std::uint8_t>)>& take) {
  const ShardsIndex index = read_shards_index(folder);
  const auto refuse = [](const std::string&, const std::string& line) {
    throw Error(Code::kData, line, kPutShardBack);
  };
  ShardedBytes(folder, index.pixels, 0)
      .read_all([&](std::span<const std::uint8_t> slice) { take(index.shape, slice); }, refuse);
  LabelledImages all;
  if (!index.labels) return all;
  all.classes = index.names;
  all.labels.reserve(static_cast<std::size_t>(index.shape.n));
  ShardedBytes(folder, *index.labels, 0)
      .read_all(
          [&](std::span<const std::uint8_t> slice) {
            for (std::size_t at = 0; at < slice.size(); at += 4)
              all.labels.push_back(get_u32_le(std::as_bytes(slice.subspan(at, 4))));
          },
          refuse);
  return all;
}

ShardsVerified verify_sharded(const stdfs::path& folder,
                              const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  ShardsIndex index = index_in(folder);
  std::uint64_t done = 0, total = 0;
  for (const ShardedStream* stream : streams_of(index)) total += stream->slices();
  const std::function<void()> slice_done = [&] {
    if (progress) progress(++done, total);
  };
  Verifier verifier(folder, slice_done);
  verifier.stream(index.pixels);
  std::vector<std::uint64_t> classes;
  if (index.labels)
    verifier.stream(*index.labels,
                    [&](std::span<const std::uint8_t> labels) { count(labels, classes); });
  if (verifier.findings.empty() && classes != index.classes)
    verifier.findings.push_back((folder / kShardsIndex).string() +
                                ": its classes have other counts than its labels");
  return {std::move(index), std::move(verifier.findings)};
}

}  // namespace lockstep::data
