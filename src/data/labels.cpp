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

hash::Digest labelled_hash(const hash::Digest& samples) {
  return hash::Sha256().update(as_bytes(kText)).update(samples.view()).finish();
}

hash::Digest labelled_hash(const hash::Digest& samples, const Labels& labels) {
  return hash::Sha256()
      .update(as_bytes(kText))
      .update(samples.view())
      .update(hash::tree_digest(bytes_of(labels)).view())
      .finish();
}

void require_classes(std::int64_t classes, std::int64_t kinds, const std::string& what) {
  if (kinds <= classes) return;
  throw Error(Code::kUsage,
              "[data]: classes: " + std::to_string(classes) + " are too few for " +
                  std::to_string(kinds) + " " + what,
              classes_for(kinds));
}

std::vector<std::int64_t> class_counts(const Dataset& dataset) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(dataset.classes()));
  for (std::int64_t i = 0; i < dataset.size(); ++i)
    ++counts[static_cast<std::size_t>(dataset.label(Sample(i)))];
  return counts;
}

Labelled::Labelled(LabelledImages images, std::int64_t classes)
    : images_(std::move(images.images)),
      labels_(std::move(images.labels)),
      classes_(classes),
      hash_(labelled_hash(images_->hash(), labels_)) {
  LOCKSTEP_ASSERT(std::cmp_equal(labels_.size(), images_->size()), std::to_string(labels_.size()));
  const auto wrong = std::ranges::find_if(
      labels_, [&](std::uint32_t label) { return std::cmp_greater_equal(label, classes); });
  if (wrong == labels_.end()) return;
  throw Error(Code::kData,
              images.labels_from.string() + ": sample " + std::to_string(wrong - labels_.begin()) +
                  " has the label " + std::to_string(*wrong) + ", and data.classes is " +
                  std::to_string(classes),
              classes_for(std::int64_t{*std::ranges::max_element(labels_)} + 1));
}

std::int64_t Labelled::label(Sample sample) const {
  LOCKSTEP_ASSERT(sample.value >= 0 && sample.value < size(),
                  "sample " + std::to_string(sample.value));
  return labels_[static_cast<std::size_t>(sample.value)];
}

}  // namespace lockstep::data
