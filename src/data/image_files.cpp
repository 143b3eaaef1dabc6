#include "lockstep/data/image_files.h"

#include <utility>

#include "data/kinds.h"
#include "lockstep/core/error.h"
#include "lockstep/data/idx.h"
#include "lockstep/data/pack.h"
#include "lockstep/data/shards.h"

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

// `wanted`: what the recipe says.
void require_kind(SampleKind there, SampleKind wanted, const std::string& path) {
  if (there == wanted) return;
  throw Error(Code::kData,
              path + " holds " + std::string(word_of(there)) + ", and data.kind is " +
                  std::string(word_of(wanted)),
              "set data.kind to \"" + std::string(word_of(there)) + "\", or give other data");
}

// Those that are there, of a packed file, or those of a file of their own.
void take_labels(LabelledImages& all, const stdfs::path& path, const std::string& labels,
                 bool wanted, std::int64_t images) {
  if (!wanted) {
    all.labels.clear();
    all.classes.clear();
    return;
  }
  stdfs::path apart = labels;
  const bool packed = is_sharded(path) || is_pack(path);
  if (apart.empty() && !packed) apart = find_labels(path).value_or("");
  all.labels_from = apart.empty() ? path : apart;
  if (apart.empty()) return;
  all.labels = read_idx_labels(apart, images);
  all.classes.clear();  // nobody says that these are theirs
}

std::unique_ptr<Dataset> open_shards_with(const ImagesOptions& own, std::int64_t classes,
                                          SampleKind wanted) {
  require_kind(read_shards_index(own.path).shape.kind, wanted, own.path);
  if (own.labels.empty()) return open_sharded(own.path, classes);
  auto images = open_sharded(own.path, 0);
  Labels labels = read_idx_labels(own.labels, images->size());
  return std::make_unique<Labelled>(std::move(images), std::move(labels), own.labels, classes);
}

std::unique_ptr<Dataset> open_files(const ImagesOptions& own, std::int64_t classes,
                                    SampleKind wanted) {
  if (classes == 0 && !own.labels.empty())
    throw Error(Code::kUsage, "[data]: labels: they are not read, because classes is 0",
                "set data.classes, or leave data.labels out");
  if (is_sharded(own.path)) return open_shards_with(own, classes, wanted);
  LabelledImages all = read_images(own, classes > 0);
  require_kind(all.images->shape().kind, wanted, own.path);
  if (classes == 0) return std::move(all.images);
  if (all.labels.empty()) refuse_without_labels(find_idx(own.path));
  return std::make_unique<Labelled>(std::move(all.images), std::move(all.labels), all.labels_from,
                                    classes, std::move(all.classes));
}

std::vector<std::string> files_of(const ImagesOptions& own, std::int64_t classes) {
  std::vector<std::string> files{own.path};
  if (classes == 0) return files;
  if (!own.labels.empty()) {
    files.push_back(own.labels);
  } else if (const auto beside = find_labels(own.path)) {  // those in a folder are in it
    files.push_back(beside->string());
  }
  return files;
}

// Labels that data.labels names and that did not move stay: `path` may be another copy of the
// images alone.
template <class Own>
void move(Own& own, const std::string& path) {
  own.path = path;
  std::error_code error;
  if (!stdfs::exists(own.labels, error)) own.labels.clear();
}

ImagesOptions as_images(const ArraysOptions& own) {
  return {.path = own.path, .labels = own.labels};
}

}  // namespace

LabelledImages read_images(const ImagesOptions& options, bool labels_wanted) {
  const stdfs::path path = find_idx(options.path);
  LabelledImages all = is_pack(path) ? read_pack(path) : LabelledImages{read_idx(path), {}, {}, {}};
  const std::int64_t count = all.images->size();
  take_labels(all, path, options.labels, labels_wanted, count);
  return all;
}

LabelledImages stream_images(const ImagesOptions& options, bool labels_wanted,
                             const PixelSink& take) {
  std::int64_t count = 0;
  const PixelSink counting = [&](const ImageShape& shape, std::span<const std::uint8_t> pixels) {
    count = shape.n;
    take(shape, pixels);
  };
  LabelledImages all;
  stdfs::path path = options.path;
  if (is_sharded(path)) {
    all = stream_shards(path, counting);
  } else if (path = find_idx(path); is_pack(path)) {
    all = stream_pack(path, counting);
  } else {
    stream_idx(path, counting);
  }
  take_labels(all, path, options.labels, labels_wanted, count);
  return all;
}

std::unique_ptr<Dataset> open_images(const Options& options) {
  return open_files(options.kind.as<ImagesOptions>(), options.classes, SampleKind::kPictures);
}

std::vector<std::string> files_of_images(const Options& options) {
  return files_of(options.kind.as<ImagesOptions>(), options.classes);
}

void move_images(Options& options, const std::string& path) {
  move(options.kind.as<ImagesOptions>(), path);
}

std::unique_ptr<Dataset> open_arrays(const Options& options) {
  const auto& own = options.kind.as<ArraysOptions>();
  if (own.path.empty())
    throw Error(Code::kUsage, "[data]: path: kind = \"" + options.kind.word() + "\" needs one",
                "give what `lockstep pack` made of your array");
  return open_files(as_images(own), options.classes, samples_of(options));
}

std::vector<std::string> files_of_arrays(const Options& options) {
  return files_of(as_images(options.kind.as<ArraysOptions>()), options.classes);
}

void move_arrays(Options& options, const std::string& path) {
  move(options.kind.as<ArraysOptions>(), path);
}

}  // namespace lockstep::data
