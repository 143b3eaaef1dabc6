// Pictures of one size and as many channels, one behind the other. Private to the sources.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/data/sources.h"

namespace lockstep::data {

class PictureStack {
 public:
  // Takes memory for `most` pictures with the first of them; nothing is written to it before.
  PictureStack(const PictureForm& form, std::int64_t most) : form_(form), most_(most) {}

  // Throws Error(kData) naming this picture and the first one where they differ in size or
  // channels, and if all of them cannot be held.
  void add(Picture picture, const std::string& name);
  std::int64_t count() const { return shape_.n; }
  // LOCKSTEP_ASSERTs that there is a picture.
  std::unique_ptr<Images> images() &&;

 private:
  PictureForm form_;
  std::int64_t most_;
  ImageShape shape_;
  std::string first_;  // name
  std::vector<std::uint8_t> pixels_;
};

// The same images made to `form`.
LabelledImages with_form(LabelledImages all, const PictureForm& form);

}  // namespace lockstep::data
