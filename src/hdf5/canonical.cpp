#include "lockstep/hdf5/canonical.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "hdf5/door.h"
#include "hdf5/sparse_file.h"
#include "lockstep/core/error.h"

namespace lockstep::hdf5 {
namespace {

constexpr hsize_t kAlignment = 4096;
constexpr hsize_t kMetadataBlock = 2048;
constexpr std::size_t kWriteBytes = 16 * kBlockBytes;

Handle checked(hid_t id, Handle::Close closer, const char* call) {
  check(id, call);
  return Handle(id, closer);
}

// A property list that turns object times off, for a file, group or data set.
Handle creation_list(hid_t list_class) {
  Handle list = checked(H5Pcreate(list_class), H5Pclose, "H5Pcreate");
  check(H5Pset_obj_track_times(list, false), "H5Pset_obj_track_times");
  return list;
}

void keep_link_order(hid_t list) {
  check(H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED),
        "H5Pset_link_creation_order");
}

Handle create_file(SparseFile& memory) {
  Handle creation = creation_list(H5P_FILE_CREATE);
  keep_link_order(creation);
  Handle access = checked(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "H5Pcreate");
  memory.use_for(access);
  check(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18), "H5Pset_libver_bounds");
  check(H5Pset_alignment(access, kAlignment, kAlignment), "H5Pset_alignment");
  check(H5Pset_meta_block_size(access, kMetadataBlock), "H5Pset_meta_block_size");
  check(H5Pset_small_data_block_size(access, kMetadataBlock), "H5Pset_small_data_block_size");
  check(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG), "H5Pset_fclose_degree");
  return checked(H5Fcreate("skeleton", H5F_ACC_TRUNC, creation, access), H5Fclose, "H5Fcreate");
}

void write_attribute(hid_t file, const Attribute& attribute) {
  Handle space = checked(H5Screate(H5S_SCALAR), H5Sclose, "H5Screate");
  const auto write = [&](hid_t type, const void* value) {
    Handle id =
        checked(H5Acreate2(file, attribute.name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                H5Aclose, "H5Acreate2");
    check(H5Awrite(id, type, value), "H5Awrite");
  };
  if (const auto* number = std::get_if<std::int64_t>(&attribute.value)) {
    write(H5T_STD_I64LE, number);
    return;
  }
  const auto& text = std::get<std::string>(attribute.value);
  Handle type = checked(H5Tcopy(H5T_C_S1), H5Tclose, "H5Tcopy");
  check(H5Tset_size(type, text.size()), "H5Tset_size");
  check(H5Tset_strpad(type, H5T_STR_NULLPAD), "H5Tset_strpad");
  write(type, text.data());
}

// Makes data sets, and the groups above them, in the order of the calls.
class Builder {
 public:
  explicit Builder(hid_t file)
      : file_(file),
        group_list_(creation_list(H5P_GROUP_CREATE)),
        dataset_list_(creation_list(H5P_DATASET_CREATE)) {
    keep_link_order(group_list_);
    check(H5Pset_layout(dataset_list_, H5D_CONTIGUOUS), "H5Pset_layout");
    check(H5Pset_alloc_time(dataset_list_, H5D_ALLOC_TIME_EARLY), "H5Pset_alloc_time");
    check(H5Pset_fill_time(dataset_list_, H5D_FILL_TIME_NEVER), "H5Pset_fill_time");
  }

  Extent add(const DatasetSpec& spec) {
    const std::size_t slash = spec.path.rfind('/');
    const hid_t parent = group(spec.path.substr(0, slash));
    const std::vector<hsize_t> dims(spec.shape.begin(), spec.shape.end());
    Handle space = checked(
        dims.empty() ? H5Screate(H5S_SCALAR)
                     : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr),
        H5Sclose, "H5Screate_simple");
    Handle id = checked(H5Dcreate2(parent, spec.path.c_str() + slash + 1, file_type(spec.type),
                                   space, H5P_DEFAULT, dataset_list_, H5P_DEFAULT),
                        H5Dclose, "H5Dcreate2");
    const haddr_t offset = H5Dget_offset(id);
    if (offset == HADDR_UNDEF) fail("H5Dget_offset: " + last_error());
    return {offset, spec.bytes()};
  }

 private:
  hid_t group(const std::string& path) {
    if (path.empty()) return file_;
    const auto known = groups_.find(path);
    if (known != groups_.end()) return known->second;
    const std::size_t slash = path.rfind('/');
    const hid_t parent = group(path.substr(0, slash));
    Handle id =
        checked(H5Gcreate2(parent, path.c_str() + slash + 1, H5P_DEFAULT, group_list_, H5P_DEFAULT),
                H5Gclose, "H5Gcreate2");
    return groups_.emplace(path, std::move(id)).first->second;
  }

  hid_t file_;
  Handle group_list_;
  Handle dataset_list_;
  std::map<std::string, Handle> groups_;
};

// A reader finds the data sets group by group; so they are written.
void check_order(std::span<const DatasetSpec> specs) {
  std::set<std::string_view> left;
  std::string_view before;  // path of the data set before
  for (const DatasetSpec& spec : specs) {
    const std::string_view path = spec.path;
    for (std::size_t end = before.rfind('/'); end != 0 && end != std::string_view::npos;
         end = before.rfind('/', end - 1)) {
      if (!path.starts_with(before.substr(0, end + 1))) left.insert(before.substr(0, end));
    }
    for (std::size_t end = path.find('/', 1); end != std::string_view::npos;
         end = path.find('/', end + 1)) {
      LOCKSTEP_ASSERT(!left.contains(path.substr(0, end)),
                      spec.path + ": a group is left and entered again");
    }
    before = path;
  }
}

void check_specs(std::span<const DatasetSpec> specs, std::span<const Attribute> attributes) {
  for (const DatasetSpec& spec : specs) {
    LOCKSTEP_ASSERT(spec.path.starts_with('/'), spec.path);
    for (std::size_t begin = 1; begin != std::string::npos + 1;) {
      const std::size_t end = spec.path.find('/', begin);
      LOCKSTEP_ASSERT(is_name(std::string_view(spec.path).substr(begin, end - begin)), spec.path);
      begin = end + 1;
    }
    LOCKSTEP_ASSERT(spec.shape.size() <= kMaxRank, spec.path);
    for (const std::int64_t dim : spec.shape) LOCKSTEP_ASSERT(dim >= 1, spec.path + " is empty");
  }
  check_order(specs);
  LOCKSTEP_ASSERT(attributes.size() <= kMaxAttributes);
  for (const Attribute& attribute : attributes) {
    LOCKSTEP_ASSERT(is_name(attribute.name), attribute.name);
    if (const auto* text = std::get_if<std::string>(&attribute.value)) {
      LOCKSTEP_ASSERT(
          !text->empty() && text->size() <= kMaxTextBytes && text->find('\0') == std::string::npos,
          attribute.name);
    }
  }
}

// A stretch of the file: metadata or one tensor.
struct Part {
  std::uint64_t offset;
  ByteView bytes;
};

std::vector<Part> parts_in_order(const Skeleton& skeleton, std::span<const ByteView> tensors) {
  LOCKSTEP_ASSERT(tensors.size() == skeleton.datasets.size());
  std::vector<Part> parts;
  for (const auto& piece : skeleton.metadata) parts.push_back({piece.offset, piece.bytes});
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    LOCKSTEP_ASSERT(
        tensors[i].size() == skeleton.datasets[i].bytes,
        "tensor " + std::to_string(i) + " has " + std::to_string(tensors[i].size()) + " bytes");
    parts.push_back({skeleton.datasets[i].offset, tensors[i]});
  }
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.offset < b.offset; });
  std::uint64_t end = 0;
  for (const Part& part : parts) {
    LOCKSTEP_ASSERT(part.offset == end, "the parts of the file have a gap or overlap");
    end += part.bytes.size();
  }
  LOCKSTEP_ASSERT(end == skeleton.length);
  return parts;
}

// Between our memory and the kernel's a bit can flip, and a file system can be wrong.
void compare(File& file, const std::vector<Part>& parts, const std::filesystem::path& path) {
  Bytes read(kWriteBytes);
  for (const Part& part : parts) {
    for (std::uint64_t at = 0; at < part.bytes.size(); at += kWriteBytes) {
      const ByteView wanted =
          part.bytes.subspan(at, std::min<std::size_t>(kWriteBytes, part.bytes.size() - at));
      const MutableByteView found = MutableByteView(read).first(wanted.size());
      if (file.read_at(part.offset + at, found) == wanted.size() &&
          std::memcmp(found.data(), wanted.data(), wanted.size()) == 0)
        continue;
      throw Error(Code::kEnvironment,
                  path.string() + ", bytes " + std::to_string(part.offset + at) + " to " +
                      std::to_string(part.offset + at + wanted.size()) +
                      ": what was written does not read back the same",
                  "memory or disk of this machine is not to be trusted");
    }
  }
}

// Gathers what it is given into large writes.
class BlockWriter {
 public:
  BlockWriter(File& file, const BlockSink& sink) : file_(file), sink_(sink) {
    buffer_.reserve(kWriteBytes);
  }
  void add(ByteView bytes) {
    while (!bytes.empty()) {
      const std::size_t n = std::min(bytes.size(), kWriteBytes - buffer_.size());
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
      bytes = bytes.subspan(n);
      if (buffer_.size() == kWriteBytes) flush();
    }
  }
  void flush() {
    for (std::size_t at = 0; sink_ && at < buffer_.size(); at += kBlockBytes) {
      sink_(ByteView(buffer_).subspan(at, std::min(kBlockBytes, buffer_.size() - at)));
    }
    file_.append(buffer_);
    buffer_.clear();
  }

 private:
  File& file_;
  const BlockSink& sink_;
  Bytes buffer_;
};

}  // namespace

std::uint64_t DatasetSpec::bytes() const {
  std::uint64_t total = size_of(type);
  for (const std::int64_t dim : shape) {
    LOCKSTEP_ASSERT(
        dim >= 0 && !__builtin_mul_overflow(total, static_cast<std::uint64_t>(dim), &total),
        path + ": its size overflows");
  }
  return total;
}

Skeleton make_skeleton(std::span<const DatasetSpec> specs, std::span<const Attribute> attributes) {
  check_specs(specs, attributes);
  std::vector<Attribute> sorted(attributes.begin(), attributes.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const Attribute& a, const Attribute& b) { return a.name < b.name; });

  const Door door(specs.size());
  SparseFile memory;
  Skeleton skeleton;
  {
    Handle file = create_file(memory);
    {
      Builder builder(file);
      for (const DatasetSpec& spec : specs) skeleton.datasets.push_back(builder.add(spec));
      for (const Attribute& attribute : sorted) write_attribute(file, attribute);
    }
    check(file.close() ? 0 : -1, "H5Fclose");
  }
  skeleton.length = memory.size();

  std::vector<Extent> tensors = skeleton.datasets;
  std::sort(tensors.begin(), tensors.end(),
            [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  tensors.push_back({skeleton.length, 0});
  std::uint64_t begin = 0;
  for (const Extent& tensor : tensors) {
    LOCKSTEP_ASSERT(tensor.offset >= begin);
    if (tensor.offset > begin) {
      Bytes bytes(tensor.offset - begin);
      memory.read(begin, bytes);
      skeleton.metadata.push_back({begin, std::move(bytes)});
    }
    begin = tensor.offset + tensor.bytes;
  }
  return skeleton;
}

void publish(FileSystem& fs, const std::filesystem::path& path, const Skeleton& skeleton,
             std::span<const ByteView> tensors, const BlockSink& sink,
             const std::function<void()>& before_rename) {
  const std::vector<Part> parts = parts_in_order(skeleton, tensors);
  const auto write = [&](File& file) {
    BlockWriter writer(file, sink);
    for (const Part& part : parts) writer.add(part.bytes);
    writer.flush();
    compare(file, parts, path);
  };
  lockstep::publish(fs, path, write, before_rename);
}

}  // namespace lockstep::hdf5
