// Labels: the class of each sample, an integer from 0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/data/images.h"

namespace lockstep::data {

using Labels = std::vector<std::uint32_t>;

// Images as their files hold them.
struct LabelledImages {
  std::unique_ptr<Images> images;
  Labels labels;                      // one an image; empty: none are there
  std::filesystem::path labels_from;  // the file of the labels
};

// How many samples have the label 0, 1, …, up to the largest. Throws Error(kData) for a label
// beyond kMostClasses - 1.
std::vector<std::uint64_t> counts_of(const Labels& labels);

// Each as 4 little-endian bytes, in order: what is hashed, and what a packed file holds.
Bytes bytes_of(const Labels& labels);

// The content hash of labelled data: SHA-256 of
//   "lockstep labels 1\n", the content hash without labels, root of the tree of bytes_of(labels)
// in order; the root only where labels were read, because the options of other data say them.
hash::Digest labelled_hash(const hash::Digest& samples);
hash::Digest labelled_hash(const hash::Digest& samples, const Labels& labels);
hash::Digest labelled_hash(const hash::Digest& samples, const hash::Digest& root);

// Of data that make their labels: Error(kUsage) where `kinds` of `what` ("modes") are more than
// `classes`.
void require_classes(std::int64_t classes, std::int64_t kinds, const std::string& what);

// Error(kData) for a sample of `file` whose label is not below `classes`; `most`: the largest
// label.
[[noreturn]] void refuse_label(const std::filesystem::path& file, std::int64_t sample,
                               std::int64_t label, std::int64_t classes, std::int64_t most);

// Images, wherever they are, with labels that were read whole.
class Labelled : public Dataset {
 public:
  // LOCKSTEP_ASSERTs a label for each image. Throws Error(kData) for one that is not below
  // `classes`. labels_from: their file.
  Labelled(std::unique_ptr<Dataset> images, Labels labels, const std::filesystem::path& labels_from,
           std::int64_t classes);

  std::int64_t size() const override { return images_->size(); }
  const std::vector<std::int64_t>& sample_shape() const override { return images_->sample_shape(); }
  const hash::Digest& hash() const override { return hash_; }
  void read(Sample sample, float* out) const override { images_->read(sample, out); }
  std::int64_t classes() const override { return classes_; }
  std::int64_t label(Sample sample) const override;

 private:
  std::unique_ptr<Dataset> images_;
  Labels labels_;
  std::int64_t classes_;
  hash::Digest hash_;
};

}  // namespace lockstep::data
