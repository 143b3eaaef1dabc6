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

// Names of the classes 0, 1, …: those of the folders that pictures lay in. Empty: nobody gave them.
// They are for people, and tell whether two data sets number their classes alike. No part of a
// content hash.
using ClassNames = std::vector<std::string>;

inline constexpr std::size_t kLongestClassName = 255;  // bytes, as a folder's

// Error(kData), a line without a file's name, where they are more than kMostClasses, or one is
// empty, too long, twice there, or has a control character.
void require_class_names(const ClassNames& names);

// A line each. parse_class_names accepts exactly what this gives of names as required; else it
// throws as require_class_names.
std::string text_of(const ClassNames& names);
ClassNames parse_class_names(std::string_view text);

// Images as their files hold them.
struct LabelledImages {
  std::unique_ptr<Images> images;
  Labels labels;                      // one an image; empty: none are there
  ClassNames classes;                 // at least as many as labels need, or none
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
           std::int64_t classes, ClassNames names = {});

  std::int64_t size() const override { return images_->size(); }
  const std::vector<std::int64_t>& sample_shape() const override { return images_->sample_shape(); }
  const hash::Digest& hash() const override { return hash_; }
  void read(Sample sample, float* out) const override { images_->read(sample, out); }
  std::int64_t classes() const override { return classes_; }
  std::int64_t label(Sample sample) const override;
  ClassNames class_names() const override { return names_; }

 private:
  std::unique_ptr<Dataset> images_;
  Labels labels_;
  std::int64_t classes_;
  ClassNames names_;
  hash::Digest hash_;
};

}  // namespace lockstep::data
