// CIFAR-10 and CIFAR-100 in their binary version (Krizhevsky, "Learning Multiple Layers of Features
// from Tiny Images", 2009; cs.toronto.edu/~kriz/cifar.html): records of labels and then 32 x 32
// bytes of red, of green, of blue. CIFAR-100 has a coarse label before the fine one, which is read.
#include <algorithm>
#include <string>
#include <utility>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "picture_stack.h"
#include "raw_file.h"
#include "source_kinds.h"

namespace lockstep::data {
namespace {

namespace stdfs = std::filesystem;

constexpr std::int64_t kSide = 32, kPlane = kSide * kSide, kPicture = 3 * kPlane;
constexpr std::string_view kEnding = ".bin";

struct Cifar {
  std::string_view name;
  std::int64_t label_bytes;  // the last one is the label
  std::uint32_t classes;
  std::string_view train, test;  // how files' names begin
};
constexpr Cifar kCifars[] = {{"CIFAR-10", 1, 10, "data_batch_", "test_batch"},
                             {"CIFAR-100", 2, 100, "train", "test"}};

// "train.bin", "data_batch_1.bin"
bool is_named(const stdfs::path& path, std::string_view begin) {
  const std::string name = path.filename().string();
  if (!name.starts_with(begin) || !name.ends_with(kEnding)) return false;
  const std::size_t middle = name.size() - begin.size() - kEnding.size();
  return begin.ends_with('_') ? middle > 0 : middle == 0;
}

struct Found {
  const Cifar* cifar = nullptr;
  std::vector<stdfs::path> files;  // in byte order of names
};

// The training files of a folder, or the file itself; no files where it is neither.
Found find(const stdfs::path& path) {
  std::error_code error;
  const bool folder = stdfs::is_directory(path, error);
  for (const Cifar& cifar : kCifars) {
    Found found{&cifar, {}};
    if (!folder && (is_named(path, cifar.train) || is_named(path, cifar.test)))
      found.files.push_back(path);
    if (folder)
      for (const auto& entry : stdfs::directory_iterator(path, error))
        if (is_named(entry.path(), cifar.train)) found.files.push_back(entry.path());
    std::ranges::sort(found.files);
    if (!found.files.empty()) return found;
  }
  return {};
}

// So many records has a file.
std::int64_t records_of(const stdfs::path& path, const Cifar& cifar) {
  return static_cast<std::int64_t>(open_data_file(path)->size()) / (cifar.label_bytes + kPicture);
}

// Appends a file's records.
void read_file(const stdfs::path& path, const Cifar& cifar, PictureStack& stack, Labels& labels) {
  const auto refuse = [&](const std::string& what) {
    throw Error(Code::kData, path.string() + ": " + what,
                "expected the binary version of " + std::string(cifar.name));
  };
  const std::unique_ptr<File> file = open_data_file(path);
  const auto record = static_cast<std::uint64_t>(cifar.label_bytes + kPicture);
  const std::uint64_t size = file->size();
  if (size == 0 || size % record != 0)
    refuse(counted(size, "byte") + ", not a multiple of " + std::to_string(record));
  Bytes bytes(record);
  for (std::uint64_t at = 0; at < size; at += record) {
    if (file->read_at(at, bytes) != record) refuse("truncated");
    const auto* values = reinterpret_cast<const std::uint8_t*>(bytes.data()) + cifar.label_bytes;
    if (values[-1] >= cifar.classes)
      refuse("record " + std::to_string(at / record) + " has the label " +
             std::to_string(values[-1]));
    labels.push_back(values[-1]);
    Picture picture{kSide, kSide, 3, {}};
    picture.pixels.reserve(kPicture);
    for (std::int64_t i = 0; i < kPlane; ++i)
      for (std::int64_t c = 0; c < 3; ++c) picture.pixels.push_back(values[c * kPlane + i]);
    stack.add(std::move(picture), path.string());
  }
}

}  // namespace

bool is_cifar(const stdfs::path& path) {
  return !find(path).files.empty();
}

Source read_cifar(const stdfs::path& path, const SourceOptions& options, PictureStack& stack) try {
  const Found found = find(path);
  Source source;
  std::int64_t records = 0;
  for (const stdfs::path& file : found.files) records += records_of(file, *found.cifar);
  stack.expect(std::max<std::int64_t>(records, 1));
  const auto total = static_cast<std::int64_t>(found.files.size());
  for (std::int64_t i = 0; i < total; ++i) {
    if (options.progress) options.progress(i, total);
    read_file(found.files[static_cast<std::size_t>(i)], *found.cifar, stack, source.all.labels);
  }
  source.all.labels_from = path;
  return source;
} catch (const std::bad_alloc&) {
  throw no_memory(path, "its pictures");
}

}  // namespace lockstep::data
