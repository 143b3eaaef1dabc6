#include "lockstep/train/sample_archive.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/train/picture.h"

namespace lockstep::train {
namespace {

constexpr const char* kProvenance = "provenance.txt";

constexpr const char* kLabelType = "<i8";

bool pictures(const recipe::Recipe& recipe) {
  return data::samples_of(recipe.data) == data::SampleKind::kPictures;
}
const char* type_of_samples(const recipe::Recipe& recipe) {
  return pictures(recipe) ? "|u1" : "<f4";
}

data::Provenance provenance_in(const std::vector<data::NpzMember>& members) {
  data::Provenance pairs;
  for (const data::NpzMember& member : members) {
    std::istringstream lines(member.text);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t colon = std::min(line.find(": "), line.size());
      pairs.emplace_back(line.substr(0, colon), line.substr(std::min(colon + 2, line.size())));
    }
  }
  return pairs;
}

}  // namespace

SampleArchive::SampleArchive(std::function<void(ByteView)> out, const Training& training,
                             std::int64_t count)
    : npz_(std::move(out)), pictures_(pictures(training.recipe)) {
  std::vector<std::int64_t> sizes = training.sample_shape;
  sizes.insert(sizes.begin(), count);
  npz_.begin_array("arr_0", type_of_samples(training.recipe), sizes);
}

void SampleArchive::append(const Tensor& samples) {
  if (pictures_) {
    const std::vector<std::uint8_t> pixels = pixels_of(samples, data::SampleKind::kPictures);
    npz_.append(std::as_bytes(std::span(pixels)));
  } else {
    npz_.append(ops::HostView(samples).bytes());
  }
}

void SampleArchive::finish(const std::vector<std::int64_t>& labels,
                           const data::Provenance& provenance) {
  if (!labels.empty()) {
    npz_.begin_array("arr_1", kLabelType, {std::ssize(labels)});
    Bytes bytes;
    for (const std::int64_t label : labels) put_u64_le(bytes, static_cast<std::uint64_t>(label));
    npz_.append(bytes);
  }
  npz_.begin_file(kProvenance);
  for (const auto& [key, value] : provenance) npz_.append(as_bytes(key + ": " + value + "\n"));
  npz_.finish();
}

std::uint64_t SampleArchive::bytes(const Training& training, std::int64_t count) {
  std::uint64_t one = pictures(training.recipe) ? 1 : 4;
  for (const std::int64_t side : training.sample_shape) one *= static_cast<std::uint64_t>(side);
  if (training.recipe.data.classes > 0) one += 8;
  return static_cast<std::uint64_t>(count) * one;
}

data::Provenance read_archive_provenance(const std::filesystem::path& path) {
  return provenance_in(data::read_npz(path));
}

data::Provenance read_archive_of_run(const std::filesystem::path& path,
                                     const recipe::Recipe& recipe) {
  const std::vector<data::NpzMember> members = data::read_npz(path);
  const auto refuse = [&](const char* what) {
    throw Error(Code::kCorrupt, path.string() + ": " + what, "restore it from another copy");
  };
  const bool labelled = recipe.data.classes > 0;
  std::vector<std::pair<std::string, std::string>> are,
      wanted{{"arr_0.npy", type_of_samples(recipe)}};
  if (labelled) wanted.emplace_back("arr_1.npy", kLabelType);
  wanted.emplace_back(kProvenance, "");
  for (const data::NpzMember& member : members) are.emplace_back(member.name, member.type);
  if (are != wanted) refuse("its members are not those that a run writes");
  data::Provenance texts = provenance_in(members);
  const std::int64_t count = members[0].shape.empty() ? 0 : members[0].shape[0];
  if (data::value_of(texts, "samples") != "0 to " + std::to_string(count - 1) ||
      (labelled && members[1].shape != std::vector<std::int64_t>{count}))
    refuse("its samples are not those that it names");
  return texts;
}

}  // namespace lockstep::train
