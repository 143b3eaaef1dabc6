#include "shard_writer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/core/text.h"

namespace lockstep::data {
namespace {

namespace stdfs = std::filesystem;

constexpr const char* kStreams[] = {"pixels", "values", "labels"};

// For the names of its files.
ShardedStream named(const std::string& stream) {
  return {stream, 0, 0, 0, {}};
}

std::string tree_of(const std::string& stream) {
  return named(stream).tree_name();
}

bool is_shard_of(const std::string& stream, const std::string& name) {
  const std::size_t begin = stream.size() + 1, ending = std::string_view(".bin").size();
  if (!name.starts_with(stream + "-") || name.size() < begin + ending) return false;
  const auto number = parse_int(name.substr(begin, name.size() - begin - ending));
  return number && *number >= 0 &&
         name == named(stream).shard_name(static_cast<std::uint64_t>(*number));
}

// Names that only a writer of shards gives; it has begun with a tree. An index is none of them: it
// ends the writer's work.
bool is_left_over(const std::string& name, const std::vector<std::string>& all) {
  if (is_temporary(name)) return without_temporary(name) == kShardsIndex;
  return std::ranges::any_of(kStreams, [&](const std::string& stream) {
    return name == tree_of(stream) ||
           (is_shard_of(stream, name) && std::ranges::find(all, tree_of(stream)) != all.end());
  });
}

// Whoever writes has a tree open.
void remove_left_over(FileSystem& fs, const stdfs::path& folder) {
  const std::vector<std::string> names = fs.list(folder);
  const auto strange = std::ranges::find_if_not(
      names, [&](const std::string& name) { return is_left_over(name, names); });
  if (strange != names.end())
    throw Error(Code::kUsage, folder.string() + " is not empty: it has " + *strange,
                "give another folder, or remove this one");
  // Trees go last: where this is killed, the rest is still a killed pack's.
  std::map<stdfs::path, std::unique_ptr<File>> trees;
  for (const char* stream : kStreams) {
    const stdfs::path tree = folder / tree_of(stream);
    if (!fs.remove_abandoned(tree))
      throw Error(Code::kUsage, "another process is writing to " + folder.string(),
                  "wait for it, or give another folder");
    if (std::ranges::find(names, tree_of(stream)) != names.end()) trees[tree] = fs.create_new(tree);
  }
  for (const std::string& name : names)
    if (!trees.contains(folder / name)) fs.remove(folder / name);
  for (const auto& [tree, file] : trees) fs.remove(tree);
}

}  // namespace

ShardStreamWriter::ShardStreamWriter(stdfs::path folder, ShardedStream stream,
                                     std::vector<stdfs::path>& made)
    : folder_(std::move(folder)),
      stream_(std::move(stream)),
      made_(made),
      tree_(create(stream_.tree_name())) {
  slice_.reserve(hash::kBlockBytes);
}

std::unique_ptr<File> ShardStreamWriter::create(const std::string& name) {
  auto file = real_file_system().create_new(folder_ / name);
  made_.push_back(folder_ / name);
  return file;
}

void ShardStreamWriter::add(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), hash::kBlockBytes - slice_.size());
    const ByteView piece = std::as_bytes(bytes.first(count));
    slice_.insert(slice_.end(), piece.begin(), piece.end());
    bytes = bytes.subspan(count);
    if (slice_.size() == hash::kBlockBytes) end_slice();
  }
}

void ShardStreamWriter::end_slice() {
  if (stream_.length % stream_.shard_bytes == 0) {
    if (shard_) shard_->sync();
    const std::uint64_t shard = stream_.length / stream_.shard_bytes;
    if (shard == kMostShards)
      throw Error(Code::kUsage,
                  "shards of " + std::to_string(stream_.shard_bytes) +
                      " bytes would be more than " + std::to_string(kMostShards),
                  "give a larger --shard-size");
    shard_ = create(stream_.shard_name(shard));
  }
  shard_->append(slice_);
  leaves_.push_back(hash::block_digest(slice_));
  stream_.length += slice_.size();
  slice_.clear();
  if (leaves_.size() == kGroupSlices) end_group();
}

void ShardStreamWriter::end_group() {
  stream_.nodes.push_back(hash::tree_top(leaves_));
  Bytes bytes;
  for (const hash::Digest& leaf : leaves_)
    bytes.insert(bytes.end(), leaf.bytes.begin(), leaf.bytes.end());
  tree_->append(bytes);
  leaves_.clear();
}

ShardedStream ShardStreamWriter::finish() {
  if (!slice_.empty()) end_slice();
  LOCKSTEP_ASSERT(shard_ != nullptr, "no bytes");
  if (!leaves_.empty()) end_group();
  shard_->sync();
  tree_->sync();
  shard_.reset();
  return stream_;  // the tree stays open: a sign for other writers
}

ShardWriter::ShardWriter(stdfs::path folder, std::uint64_t shard_bytes)
    : folder_(std::move(folder)),
      shard_bytes_(shard_bytes / hash::kBlockBytes * hash::kBlockBytes) {
  if (shard_bytes_ == 0)
    throw Error(Code::kUsage, "shards of " + std::to_string(shard_bytes) + " bytes",
                "a shard has at least " + std::to_string(hash::kBlockBytes));
  made_folder_ = real_file_system().create_directory(folder_);
  if (!made_folder_) remove_left_over(real_file_system(), folder_);
  stdfs::path named = stdfs::absolute(folder_).lexically_normal();
  if (!named.has_filename()) named = named.parent_path();  // "out/"
  real_file_system().sync_directory(named.parent_path());
}

ShardWriter::~ShardWriter() {
  pixels_.reset();
  if (finished_) return;
  for (auto file = made_.rbegin(); file != made_.rend(); ++file)  // the trees last
    discard(real_file_system(), *file);
  std::error_code not_empty;
  if (made_folder_) stdfs::remove(folder_, not_empty);
}

ShardedStream ShardWriter::stream(const std::string& name, std::int64_t sample_bytes) const {
  return {name, 0, shard_bytes_, static_cast<std::uint64_t>(sample_bytes), {}};
}

void ShardWriter::add(const ImageShape& shape, std::span<const std::uint8_t> pixels) {
  if (!pixels_) {
    shape_ = {0, shape.h, shape.w, shape.c, shape.kind};
    pixels_.emplace(folder_, stream(values_stream(shape.kind), shape_.image_bytes()), made_);
  }
  pixels_->add(pixels);
  shape_.n += std::ssize(pixels) / shape_.image_bytes();
}

ShardsIndex ShardWriter::finish(const Labels& labels, const ClassNames& names) {
  LOCKSTEP_ASSERT(pixels_.has_value() && (labels.empty() || std::ssize(labels) == shape_.n));
  require_class_names(names);
  ShardsIndex index{shape_, {}, {}, counts_of(labels), pixels_->finish(), {}, {}};
  index.hash = content_hash(index.shape, index.pixels.root());
  if (!labels.empty()) {
    LOCKSTEP_ASSERT(names.empty() || names.size() >= index.classes.size());
    index.names = names;
    ShardStreamWriter writer(folder_, stream("labels", 4), made_);
    Bytes bytes;
    for (const std::uint32_t label : labels) {
      bytes.clear();
      put_u32_le(bytes, label);
      writer.add({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    }
    index.labels = writer.finish();
    index.labelled = labelled_hash(index.hash, index.labels->root());
  }
  publish(real_file_system(), folder_ / kShardsIndex, as_bytes(format_shards_index(index)));
  finished_ = true;
  return index;
}

ShardsIndex write_shards(const stdfs::path& folder, const Images& images, const Labels& labels,
                         std::uint64_t shard_bytes, const ClassNames& names) {
  ShardWriter writer(folder, shard_bytes);
  writer.add(images.shape(), images.pixels());
  return writer.finish(labels, names);
}

}  // namespace lockstep::data
