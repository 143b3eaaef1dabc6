// The table of the kinds of sources: one row a kind.
#include "lockstep/data/sources.h"

#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/data/idx.h"
#include "lockstep/data/image_files.h"
#include "picture_stack.h"
#include "source_kinds.h"

namespace lockstep::data {
namespace {

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

Source read_into(PictureStack& stack, const std::filesystem::path& path,
                 const SourceOptions& options) {
  const SourceKind* kind = source_kinds().data();
  while (!kind->matches(path)) ++kind;  // the last one does
  Source source = kind->read(path, options, stack);
  source.moments = stack.moments();
  if (!options.labels_wanted || !options.labels.empty()) {
    source.all.labels.clear();
    source.classes.clear();
  }
  if (options.labels_wanted && !options.labels.empty()) {
    source.all.labels = read_idx_labels(options.labels, stack.count());
    source.all.labels_from = options.labels;
  }
  return source;
}

}  // namespace

std::span<const SourceKind> source_kinds() {
  static constexpr SourceKind kRows[] = {
      {"the binary version of CIFAR", &is_cifar, &read_cifar},
      {"arrays of NumPy", &is_numpy, &read_numpy},
      {"a folder of pictures", &is_picture_folder, &read_picture_folder},
      {"an IDX file, a pack or shards", &is_anything, &read_idx_or_pack},
  };
  return kRows;
}

Source read_source(const std::filesystem::path& path, const SourceOptions& options) {
  MemoryStack stack(options.form);
  Source source = read_into(stack, path, options);
  source.all.images = std::move(stack).images();
  return source;
}

ShardedSource shard_source(const std::filesystem::path& path, const SourceOptions& options,
                           const std::filesystem::path& folder, std::uint64_t shard_bytes) {
  ShardWriter writer(folder, shard_bytes);
  ShardStack stack(options.form, writer);
  Source source = read_into(stack, path, options);
  ShardsIndex index = writer.finish(source.all.labels);
  return {std::move(source), std::move(index)};
}

}  // namespace lockstep::data
