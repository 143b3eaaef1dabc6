#include "lockstep/data/labels.h"

#include <algorithm>
#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/hash/merkle.h"

namespace lockstep::data {
namespace {

constexpr std::string_view kText = "lockstep labels 1\n";

std::string classes_for(std::int64_t kinds) {
  return kinds <= kMostClasses
             ? "set data.classes to " + std::to_string(kinds) + " or more"
             : "at most " + std::to_string(kMostClasses) + " classes are possible";
}

}  // namespace

Bytes bytes_of(const Labels& labels) {
  Bytes bytes;
  bytes.reserve(4 * labels.size());
  for (const std::uint32_t label : labels) put_u32_le(bytes, label);
  return bytes;
}

std::vector<std::uint64_t> counts_of(const Labels& labels) {
  std::vector<std::uint64_t> counts;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= kMostClasses)
      throw Error(Code::kData,
                  "sample " + std::to_string(i) + " has the label " + std::to_string(labels[i]),
                  "at most " + std::to_string(kMostClasses) + " classes are possible");
    if (labels[i] >= counts.size()) counts.resize(labels[i] + 1);
    ++counts[labels[i]];
  }
  return counts;
}

hash::Digest labelled_hash(const hash::Digest& samples) {
  return hash::Sha256().update(as_bytes(kText)).update(samples.view()).finish();
}

hash::Digest labelled_hash(const hash::Digest& samples, const Labels& labels) {
  return labelled_hash(samples, hash::tree_digest(bytes_of(labels)));
}

hash::Digest labelled_hash(const hash::Digest& samples, const hash::Digest& root) {
  return hash::Sha256().update(as_bytes(kText)).update(samples.view()).update(root.view()).finish();
}

void require_classes(std::int64_t classes, std::int64_t kinds, const std::string& what) {
  if (kinds <= classes) return;
  throw Error(Code::kUsage,
              "[data]: classes: " + std::to_string(classes) + " are too few for " +
                  std::to_string(kinds) + " " + what,
              classes_for(kinds));
}

void refuse_label(const std::filesystem::path& file, std::int64_t sample, std::int64_t label,
                  std::int64_t classes, std::int64_t most) {
  throw Error(Code::kData,
              file.string() + ": sample " + std::to_string(sample) + " has the label " +
                  std::to_string(label) + ", and data.classes is " + std::to_string(classes),
              classes_for(most + 1));
}

Labelled::Labelled(std::unique_ptr<Dataset> images, Labels labels,
                   const std::filesystem::path& labels_from, std::int64_t classes, ClassNames names)
    : images_(std::move(images)),
      labels_(std::move(labels)),
      classes_(classes),
      names_(std::move(names)),
      hash_(labelled_hash(images_->hash(), labels_)) {
  LOCKSTEP_ASSERT(std::cmp_equal(labels_.size(), images_->size()), std::to_string(labels_.size()));
  const auto wrong = std::ranges::find_if(
      labels_, [&](std::uint32_t label) { return std::cmp_greater_equal(label, classes); });
  if (wrong != labels_.end())
    refuse_label(labels_from, wrong - labels_.begin(), *wrong, classes,
                 *std::ranges::max_element(labels_));
}

std::int64_t Labelled::label(Sample sample) const {
  LOCKSTEP_ASSERT(sample.value >= 0 && sample.value < size(),
                  "sample " + std::to_string(sample.value));
  return labels_[static_cast<std::size_t>(sample.value)];
}

}  // namespace lockstep::data
