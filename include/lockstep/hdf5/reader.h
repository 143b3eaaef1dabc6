// Reading canonical files, distrustfully.
//
// libhdf5 is not safe on hostile files, so it never parses one: a small parser of our own finds
// what the file seems to hold, the file's skeleton is made anew from that (hdf5/canonical.h), and
// every byte outside the tensors must be the same. So what is accepted is a file that this program
// could have written, whoever sent it; links, filters, other files' bytes, other types, sizes that
// overflow or overlap and anything else of HDF5 have no way in. Whether the tensors' bytes are the
// right ones only a hash from a trusted place can say.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/core/bytes.h"
#include "lockstep/core/error.h"
#include "lockstep/hdf5/canonical.h"

namespace lockstep::hdf5 {

class Reader {
 public:
  // image: the whole file; must outlive the Reader (nothing is copied). name: for messages.
  // failure: code of the Error for a file that is not accepted, kCorrupt for evidence, kData for
  // data sets. Everything is checked here, at once.
  Reader(ByteView image, std::string name, Code failure = Code::kCorrupt);

  // The specs that the file was written with, in order.
  const std::vector<DatasetSpec>& datasets() const { return datasets_; }
  const std::vector<Extent>& extents() const { return extents_; }
  const std::vector<Attribute>& attributes() const { return attributes_; }

  // The bytes of data set i, inside `image`.
  ByteView data(std::size_t i) const;

  // By name; throws (with `failure`) if absent, or not of this type.
  std::size_t find(std::string_view path) const;
  ByteView data(std::string_view path, Type type, const std::vector<std::int64_t>& shape) const;
  const std::string& text(std::string_view attribute) const;
  std::int64_t integer(std::string_view attribute) const;

 private:
  [[noreturn]] void refuse(const std::string& what) const;
  const Attribute& attribute(std::string_view name) const;

  ByteView image_;
  std::string name_;
  Code failure_;
  std::vector<DatasetSpec> datasets_;
  std::vector<Extent> extents_;
  std::vector<Attribute> attributes_;
};

}  // namespace lockstep::hdf5
