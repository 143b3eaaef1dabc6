#include "lockstep/data/image_files.h"

#include <utility>

#include "data/kinds.h"
#include "lockstep/core/error.h"
#include "lockstep/data/idx.h"
#include "lockstep/data/pack.h"

namespace lockstep::data {
namespace {

namespace stdfs = std::filesystem;

[[noreturn]] void refuse_without_labels(const stdfs::path& images) {
  const std::string name = name_of_labels(images);
  std::string what = ": no labels: its name has no images-idx3 or images-idx4, which tells theirs";
  if (is_pack(images))
    what = ": a packed file without labels";
  else if (!name.empty())
    what = ": no labels: " + name + "[.gz] is not beside it";
  throw Error(Code::kData, images.string() + what,
              "give their file by data.labels, or set data.classes to 0");
}

}  // namespace

LabelledImages read_images(const ImagesOptions& options, bool labels_wanted) {
  const stdfs::path path = find_idx(options.path);
  const bool packed = is_pack(path);
  LabelledImages all = packed ? read_pack(path) : LabelledImages{read_idx(path), {}, {}};
  if (!labels_wanted) {
    all.labels.clear();
    return all;
  }
  stdfs::path apart = options.labels;
  if (apart.empty() && !packed) apart = find_labels(path).value_or("");
  all.labels_from = apart.empty() ? path : apart;
  if (!apart.empty()) all.labels = read_idx_labels(apart, all.images->size());
  return all;
}

std::unique_ptr<Dataset> open_images(const Options& options) {
  const auto& own = options.kind.as<ImagesOptions>();
  if (options.classes == 0 && !own.labels.empty())
    throw Error(Code::kUsage, "[data]: labels: they are not read, because classes is 0",
                "set data.classes, or leave data.labels out");
  LabelledImages all = read_images(own, options.classes > 0);
  if (options.classes == 0) return std::move(all.images);
  if (all.labels.empty()) refuse_without_labels(find_idx(own.path));
  return std::make_unique<Labelled>(std::move(all), options.classes);
}

std::vector<std::string> files_of_images(const Options& options) {
  const auto& own = options.kind.as<ImagesOptions>();
  std::vector<std::string> files{own.path};
  if (options.classes == 0) return files;
  if (!own.labels.empty()) {
    files.push_back(own.labels);
  } else if (const auto beside = find_labels(own.path)) {  // those in a folder are in it
    files.push_back(beside->string());
  }
  return files;
}

// Labels that data.labels names and that did not move stay: `path` may be another copy of the
// images alone.
void move_images(Options& options, const std::string& path) {
  auto& own = options.kind.as<ImagesOptions>();
  own.path = path;
  std::error_code error;
  if (!stdfs::exists(own.labels, error)) own.labels.clear();
}

}  // namespace lockstep::data
