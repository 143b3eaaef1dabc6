#include "lockstep/hdf5/reader.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "hdf5/door.h"

namespace lockstep::hdf5 {
namespace {

constexpr int kMaxDepth = 16;
constexpr std::size_t kMaxObjects = 1'000'000;

// What is not accepted; the Reader adds the file's name.
struct Refusal {
  std::string what;
};

[[noreturn]] void reject(const std::string& what) {
  throw Refusal{what};
}

void check(bool fine, const std::string& where) {
  if (!fine) reject(where + ": HDF5 cannot read it: " + last_error());
}

Handle checked(hid_t id, Handle::Close closer, const std::string& where) {
  check(id >= 0, where);
  return Handle(id, closer);
}

// The superblock before HDF5 sees it: version 2, as bounds V18 give, whole, without extensions.
void check_superblock(ByteView image) {
  static constexpr std::array<unsigned char, 12> kHead{0x89, 'H',  'D', 'F', '\r', '\n',
                                                       0x1a, '\n', 2,   8,   8,    0};
  constexpr std::size_t kSize = 48;
  if (image.size() < kSize) {
    reject("not an HDF5 file, or cut off: " + std::to_string(image.size()) + " bytes");
  }
  if (std::memcmp(image.data(), kHead.data(), 8) != 0) reject("not an HDF5 file");
  if (std::memcmp(image.data(), kHead.data(), kHead.size()) != 0 ||
      get_u64_le(image.subspan(12, 8)) != 0 || get_u64_le(image.subspan(20, 8)) != ~0ull) {
    reject("an HDF5 file of a form that this program does not write");
  }
  if (const std::uint64_t end = get_u64_le(image.subspan(28, 8)); end != image.size()) {
    reject("the file says that it has " + std::to_string(end) + " bytes and has " +
           std::to_string(image.size()) + ": cut off or appended to");
  }
}

// HDF5 wants to own the image; these let it use the caller's bytes instead. It only reads them.
struct Borrowed {
  void* bytes;

  static void* give(size_t, H5FD_file_image_op_t, void* self) {
    return static_cast<Borrowed*>(self)->bytes;
  }
  static void* copy(void* to, const void*, size_t, H5FD_file_image_op_t, void*) { return to; }
  static void* grow(void*, size_t, H5FD_file_image_op_t, void*) { return nullptr; }
  static herr_t release(void*, H5FD_file_image_op_t, void*) { return 0; }
  static void* copy_self(void* self) { return self; }
  static herr_t release_self(void*) { return 0; }
};

Handle open_image(ByteView image, Borrowed& borrowed) {
  Handle access = checked(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "opening");
  check(H5Pset_fapl_core(access, 1 << 20, false) >= 0, "opening");
  check(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0, "opening");
  H5FD_file_image_callbacks_t callbacks{
      Borrowed::give,      Borrowed::copy,         Borrowed::grow, Borrowed::release,
      Borrowed::copy_self, Borrowed::release_self, &borrowed};
  check(H5Pset_file_image_callbacks(access, &callbacks) >= 0, "opening");
  check(H5Pset_file_image(access, borrowed.bytes, image.size()) >= 0, "opening");
  return checked(H5Fopen("image", H5F_ACC_RDONLY, access), H5Fclose, "/");
}

// Walks all objects below the root group and collects what it accepts.
class Walk {
 public:
  Walk(std::uint64_t file_bytes, std::vector<DatasetSpec>& specs, std::vector<Extent>& extents)
      : file_bytes_(file_bytes), specs_(specs), extents_(extents) {}

  void group(hid_t id, const std::string& path, int depth) {
    if (depth > kMaxDepth) reject(path + ": groups are nested too deeply");
    H5G_info_t info;
    check(H5Gget_info(id, &info) >= 0, path);
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      if (++objects_ > kMaxObjects) reject(path + ": too many objects");
      const std::string child = path + "/" + link_name(id, path, i);
      Handle object =
          checked(H5Oopen_by_idx(id, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, H5P_DEFAULT),
                  H5Oclose, child);
      H5O_info_t about;
      check(H5Oget_info(object, &about) >= 0, child);
      if (about.rc != 1) reject(child + ": an object with several names");
      if (about.num_attrs != 0) reject(child + ": attributes on something else than the root");
      if (about.type == H5O_TYPE_GROUP) {
        group(object, child, depth + 1);
      } else if (about.type == H5O_TYPE_DATASET) {
        dataset(object, child);
      } else {
        reject(child + ": neither a group nor a data set");
      }
    }
  }

 private:
  static std::string link_name(hid_t id, const std::string& path, hsize_t i) {
    const std::string where = path + ", entry " + std::to_string(i);
    H5L_info_t link;
    check(H5Lget_info_by_idx(id, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, &link, H5P_DEFAULT) >= 0,
          where);
    if (link.type != H5L_TYPE_HARD) reject(where + ": a soft or external link");
    char name[257] = {};
    const ssize_t length = H5Lget_name_by_idx(id, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, name,
                                              sizeof name, H5P_DEFAULT);
    check(length >= 0, where);
    if (length > 255 || !is_name(std::string_view(name, static_cast<std::size_t>(length)))) {
      reject(where + ": a name that this program does not write");
    }
    return name;
  }

  void dataset(hid_t id, const std::string& path) {
    check_storage(id, path);
    DatasetSpec spec{path, type_of(id, path), shape_of(id, path)};
    std::uint64_t bytes = size_of(spec.type);
    for (const std::int64_t dim : spec.shape) {
      if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(dim), &bytes)) {
        reject(path + ": its size overflows");
      }
    }
    if (H5Dget_storage_size(id) != bytes) {
      reject(path + ": its storage is not of the size of its shape");
    }
    const haddr_t offset = H5Dget_offset(id);
    if (offset == HADDR_UNDEF || offset > file_bytes_ || bytes > file_bytes_ - offset) {
      reject(path + ": its bytes are not inside the file");
    }
    specs_.push_back(std::move(spec));
    extents_.push_back({offset, bytes});
  }

  static void check_storage(hid_t id, const std::string& path) {
    Handle list = checked(H5Dget_create_plist(id), H5Pclose, path);
    if (H5Pget_layout(list) != H5D_CONTIGUOUS) reject(path + ": not contiguous");
    if (H5Pget_external_count(list) != 0) reject(path + ": its bytes are in other files");
    if (H5Pget_nfilters(list) != 0) reject(path + ": compressed or filtered");
  }

  static Type type_of(hid_t id, const std::string& path) {
    Handle type = checked(H5Dget_type(id), H5Tclose, path);
    if (H5Tcommitted(type) == 0) {
      for (const Type known : {Type::kF32, Type::kU8, Type::kI64}) {
        if (H5Tequal(type, file_type(known)) > 0) return known;
      }
    }
    reject(path + ": an element type other than float32, uint8 and int64 (little-endian)");
  }

  static std::vector<std::int64_t> shape_of(hid_t id, const std::string& path) {
    Handle space = checked(H5Dget_space(id), H5Sclose, path);
    const H5S_class_t kind = H5Sget_simple_extent_type(space);
    if (kind == H5S_SCALAR) return {};
    const int rank = H5Sget_simple_extent_ndims(space);
    if (kind != H5S_SIMPLE || rank < 1 || rank > kMaxRank) reject(path + ": an odd shape");
    hsize_t dims[kMaxRank], limits[kMaxRank];
    check(H5Sget_simple_extent_dims(space, dims, limits) == rank, path);
    std::vector<std::int64_t> shape;
    for (int i = 0; i < rank; ++i) {
      if (dims[i] == 0 || dims[i] != limits[i] || dims[i] > INT64_MAX)
        reject(path + ": an odd shape");
      shape.push_back(static_cast<std::int64_t>(dims[i]));
    }
    return shape;
  }

  std::uint64_t file_bytes_;
  std::vector<DatasetSpec>& specs_;
  std::vector<Extent>& extents_;
  std::size_t objects_ = 0;
};

void check_overlap(const std::vector<DatasetSpec>& specs, const std::vector<Extent>& extents) {
  std::vector<std::size_t> order(extents.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return extents[a].offset < extents[b].offset; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Extent& before = extents[order[i - 1]];
    if (before.offset + before.bytes > extents[order[i]].offset) {
      reject(specs[order[i]].path + " lies over " + specs[order[i - 1]].path);
    }
  }
}

Attribute read_attribute(hid_t root, hsize_t i) {
  const std::string where = "attribute " + std::to_string(i);
  Handle id =
      checked(H5Aopen_by_idx(root, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT),
              H5Aclose, where);
  char name[257] = {};
  const ssize_t length = H5Aget_name(id, sizeof name, name);
  if (length < 0 || length > 255 || !is_name(name)) reject(where + ": an odd name");
  Handle space = checked(H5Aget_space(id), H5Sclose, name);
  if (H5Sget_simple_extent_type(space) != H5S_SCALAR) reject(std::string(name) + ": not a scalar");
  Handle type = checked(H5Aget_type(id), H5Tclose, name);
  if (H5Tequal(type, H5T_STD_I64LE) > 0) {
    std::int64_t value = 0;
    check(H5Aread(id, H5T_STD_I64LE, &value) >= 0, name);
    return {name, value};
  }
  const std::size_t size = H5Tget_size(type);
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 ||
      H5Tget_strpad(type) != H5T_STR_NULLPAD || size == 0 || size > kMaxTextBytes) {
    reject(std::string(name) + ": neither an int64 nor a short text of fixed length");
  }
  std::string text(size, '\0');
  check(H5Aread(id, type, text.data()) >= 0, name);
  if (text.find('\0') != std::string::npos) reject(std::string(name) + ": a NUL in its text");
  return {name, text};
}

std::vector<Attribute> read_attributes(hid_t root) {
  H5O_info_t about;
  check(H5Oget_info(root, &about) >= 0, "/");
  if (about.num_attrs > kMaxAttributes) reject("too many attributes");
  std::vector<Attribute> attributes;
  for (hsize_t i = 0; i < about.num_attrs; ++i) attributes.push_back(read_attribute(root, i));
  return attributes;
}

}  // namespace

Reader::Reader(ByteView image, std::string name, Code failure)
    : image_(image), name_(std::move(name)), failure_(failure) {
  try {
    check_superblock(image_);
    const Door door;
    Borrowed borrowed{const_cast<std::byte*>(image_.data())};
    const Handle file = open_image(image_, borrowed);
    const Handle root = checked(H5Gopen2(file, "/", H5P_DEFAULT), H5Gclose, "/");
    attributes_ = read_attributes(root);
    Walk(image_.size(), datasets_, extents_).group(root, "", 0);
    check_overlap(datasets_, extents_);
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
