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

Source read_idx_or_pack(const std::filesystem::path& path, const SourceOptions& options) {
  const bool own_labels = options.labels_wanted && options.labels.empty();
  return {with_form(read_images({.path = path.string(), .labels = {}}, own_labels), options.form),
          {},
          {}};
}

}  // namespace

std::span<const SourceKind> source_kinds() {
  static constexpr SourceKind kRows[] = {
      {"the binary version of CIFAR", &is_cifar, &read_cifar},
      {"arrays of NumPy", &is_numpy, &read_numpy},
      {"a folder of pictures", &is_picture_folder, &read_picture_folder},
      {"an IDX file or a pack", &is_anything, &read_idx_or_pack},
  };
  return kRows;
}

Source read_source(const std::filesystem::path& path, const SourceOptions& options) {
  const SourceKind* kind = source_kinds().data();
  while (!kind->matches(path)) ++kind;  // the last one does
  Source source = kind->read(path, options);
  if (!options.labels_wanted || !options.labels.empty()) {
    source.all.labels.clear();
    source.classes.clear();
  }
  if (options.labels_wanted && !options.labels.empty()) {
    source.all.labels = read_idx_labels(options.labels, source.all.images->size());
    source.all.labels_from = options.labels;
  }
  return source;
}

}  // namespace lockstep::data
