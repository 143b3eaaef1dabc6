#include "lockstep/train/sample_archive.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "lockstep/ops/device.h"
#include "lockstep/train/picture.h"

namespace lockstep::train {
namespace {

constexpr const char* kProvenance = "provenance.txt";

bool pictures(const Training& training) {
  return data::samples_of(training.recipe.data) == data::SampleKind::kPictures;
}

}  // namespace

SampleArchive::SampleArchive(std::function<void(ByteView)> out, const Training& training,
                             std::int64_t count)
    : npz_(std::move(out)), pictures_(pictures(training)) {
  std::vector<std::int64_t> sizes = training.sample_shape;
  sizes.insert(sizes.begin(), count);
  npz_.begin_array("arr_0", pictures_ ? "|u1" : "<f4", sizes);
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
    npz_.begin_array("arr_1", "<i8", {std::ssize(labels)});
    Bytes bytes;
    for (const std::int64_t label : labels) put_u64_le(bytes, static_cast<std::uint64_t>(label));
    npz_.append(bytes);
  }
  npz_.begin_file(kProvenance);
  for (const auto& [key, value] : provenance) npz_.append(as_bytes(key + ": " + value + "\n"));
  npz_.finish();
}

std::uint64_t SampleArchive::bytes(const Training& training, std::int64_t count) {
  std::uint64_t one = pictures(training) ? 1 : 4;
  for (const std::int64_t side : training.sample_shape) one *= static_cast<std::uint64_t>(side);
  if (training.recipe.data.classes > 0) one += 8;
  return static_cast<std::uint64_t>(count) * one;
}

data::Provenance read_archive_provenance(const std::filesystem::path& path) {
  data::Provenance pairs;
  for (const data::NpzMember& member : data::read_npz(path)) {
    std::istringstream lines(member.text);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t colon = std::min(line.find(": "), line.size());
      pairs.emplace_back(line.substr(0, colon), line.substr(std::min(colon + 2, line.size())));
    }
  }
  return pairs;
}

}  // namespace lockstep::train
