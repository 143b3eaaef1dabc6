#include "lockstep/hdf5/reader.h"

#include <algorithm>

#include "hdf5/parse.h"

namespace lockstep::hdf5 {
namespace {

// Every byte that is not a tensor's follows from the names, types, shapes and attributes.
void check_same(ByteView image, const Skeleton& skeleton) {
  if (skeleton.length != image.size()) {
    throw Refusal{"its contents take " + std::to_string(skeleton.length) + " bytes and it has " +
                  std::to_string(image.size()) + ": damaged, or not written by this program"};
  }
  for (const auto& piece : skeleton.metadata) {
    const ByteView there = image.subspan(piece.offset, piece.bytes.size());
    const auto differs = std::mismatch(piece.bytes.begin(), piece.bytes.end(), there.begin());
    if (differs.first == piece.bytes.end()) continue;
    const auto at = static_cast<std::uint64_t>(differs.first - piece.bytes.begin());
    throw Refusal{"byte " + std::to_string(piece.offset + at) +
                  " is not what its contents give: damaged, or not written by this program"};
  }
}

}  // namespace

Reader::Reader(ByteView image, std::string name, Code failure)
    : image_(image), name_(std::move(name)), failure_(failure) {
  try {
    Description found = parse(image_);
    Skeleton skeleton = make_skeleton(found.specs, found.attributes);
    check_same(image_, skeleton);
    datasets_ = std::move(found.specs);
    attributes_ = std::move(found.attributes);
    extents_ = std::move(skeleton.datasets);
  } catch (const Refusal& refusal) {
    refuse(refusal.what);
  }
}

void Reader::refuse(const std::string& what) const {
  throw Error(failure_, name_ + ": " + what);
}

ByteView Reader::data(std::size_t i) const {
  LOCKSTEP_ASSERT(i < extents_.size());
  return image_.subspan(extents_[i].offset, extents_[i].bytes);
}

std::size_t Reader::find(std::string_view path) const {
  const auto found = std::find_if(datasets_.begin(), datasets_.end(),
                                  [&](const DatasetSpec& spec) { return spec.path == path; });
  if (found == datasets_.end()) refuse("no data set " + std::string(path));
  return static_cast<std::size_t>(found - datasets_.begin());
}

ByteView Reader::data(std::string_view path, Type type,
                      const std::vector<std::int64_t>& shape) const {
  const std::size_t i = find(path);
  if (datasets_[i].type != type || datasets_[i].shape != shape) {
    refuse(std::string(path) + " has another shape or type");
  }
  return data(i);
}

const Attribute& Reader::attribute(std::string_view name) const {
  for (const Attribute& attribute : attributes_) {
    if (attribute.name == name) return attribute;
  }
  refuse("no attribute " + std::string(name));
}

const std::string& Reader::text(std::string_view name) const {
  const auto* value = std::get_if<std::string>(&attribute(name).value);
  if (value == nullptr) refuse("attribute " + std::string(name) + " is not a text");
  return *value;
}

std::int64_t Reader::integer(std::string_view name) const {
  const auto* value = std::get_if<std::int64_t>(&attribute(name).value);
  if (value == nullptr) refuse("attribute " + std::string(name) + " is not a whole number");
  return *value;
}

}  // namespace lockstep::hdf5
