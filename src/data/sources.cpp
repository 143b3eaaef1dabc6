// The table of the kinds of sources: one row a kind.
#include "lockstep/data/sources.h"

#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/data/idx.h"
#include "lockstep/data/image_files.h"
#include "lockstep/data/pack.h"
#include "picture_stack.h"
#include "raw_file.h"
#include "source_kinds.h"

namespace lockstep::data {
namespace {

// A row of the kinds of sources. `read` gives the pictures to the stack, and all else to its
// result.
struct SourceKind {
  bool (*matches)(const std::filesystem::path& path);
  Source (*read)(const std::filesystem::path& path, const SourceOptions& options,
                 PictureStack& stack);
};

bool is_anything(const std::filesystem::path&) {
  return true;
}

Source read_idx_or_pack(const std::filesystem::path& path, const SourceOptions& options,
                        PictureStack& stack) {
  const bool own_labels = options.labels_wanted && options.labels.empty();
  Source source;
  source.all = stream_images({.path = path.string(), .labels = {}}, own_labels,
                             [&](const ImageShape& shape, std::span<const std::uint8_t> pixels) {
                               stack.add(shape, pixels);
                             });
  return source;
}

// The first that matches is taken.
constexpr SourceKind kKinds[] = {
    {&is_cifar, &read_cifar},
    {&is_numpy, &read_numpy},
    {&is_picture_folder, &read_picture_folder},
    {&is_anything, &read_idx_or_pack},
};

Source read_into(PictureStack& stack, const std::filesystem::path& path,
                 const SourceOptions& options) {
  const SourceKind* kind = kKinds;
  while (!kind->matches(path)) ++kind;  // the last one does
  if (!options.classes.empty() && kind->read != &read_picture_folder)
    throw Error(Code::kUsage, "--classes is of folders of pictures: " + path.string() + " is none",
                "leave it out: its labels are numbers");
  Source source = kind->read(path, options, stack);
  source.moments = stack.moments();
  stack.warn_of_resized();
  if (!options.labels_wanted || !options.labels.empty()) {
    source.all.labels.clear();
    source.all.classes.clear();
  }
  if (options.labels_wanted && !options.labels.empty()) {
    source.all.labels = read_idx_labels(options.labels, stack.count());
    source.all.labels_from = options.labels;
  }
  return source;
}

constexpr std::size_t kPiece = std::size_t{1} << 20;

hash::Digest sha256_of(File& file) {
  hash::Sha256 hash;
  Bytes piece(kPiece);
  for (std::uint64_t at = 0, end = file.size(); at < end; at += piece.size()) {
    piece.resize(std::min<std::uint64_t>(kPiece, end - at));
    if (file.read_at(at, piece) != piece.size()) throw Error(Code::kData, "cut off");
    hash.update(piece);
  }
  return hash.finish();
}

}  // namespace

Source read_source(const std::filesystem::path& path, const SourceOptions& options) {
  MemoryStack stack(options.form);
  Source source = read_into(stack, path, options);
  source.all.images = std::move(stack).images();
  return source;
}

PictureFile read_pictures(const std::filesystem::path& path) {
  MemoryStack stack({});
  SourceOptions options;
  options.labels_wanted = false;
  if (is_pack(path))
    read_idx_or_pack(path, options, stack);
  else
    read_numpy(path, options, stack);
  return {std::move(stack).images(), with_data_file(path, "its pictures", sha256_of)};
}

ShardedSource shard_source(const std::filesystem::path& path, const SourceOptions& options,
                           const std::filesystem::path& folder, std::uint64_t shard_bytes) {
  ShardWriter writer(folder, shard_bytes);
  ShardStack stack(options.form, writer);
  Source source = read_into(stack, path, options);
  ShardsIndex index = writer.finish(source.all.labels, source.all.classes);
  return {std::move(source), std::move(index)};
}

}  // namespace lockstep::data
