#include "hdf5/sparse_file.h"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include <algorithm>
#include <cstring>
#include <new>

#include "hdf5/door.h"

namespace lockstep::hdf5 {
namespace {

// What HDF5 holds while the file is open.
struct OpenFile : H5FD_t {
  SparseFile* file = nullptr;
  haddr_t end = 0;  // of what HDF5 has allocated
};

OpenFile& opened(H5FD_t* file) {
  return *static_cast<OpenFile*>(file);
}
const OpenFile& opened(const H5FD_t* file) {
  return *static_cast<const OpenFile*>(file);
}

H5FD_t* open(const char*, unsigned, hid_t access_list, haddr_t) {
  const auto* file = static_cast<SparseFile* const*>(H5Pget_driver_info(access_list));
  auto* open_file = file == nullptr ? nullptr : new (std::nothrow) OpenFile{};
  if (open_file != nullptr) open_file->file = *file;
  return open_file;
}

herr_t close(H5FD_t* file) {
  delete static_cast<OpenFile*>(file);
  return 0;
}

// The features that steer allocation, as HDF5's own driver for files has them.
herr_t query(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

haddr_t get_eoa(const H5FD_t* file, H5FD_mem_t) {
  return opened(file).end;
}
herr_t set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  opened(file).end = end;
  return 0;
}
haddr_t get_eof(const H5FD_t* file, H5FD_mem_t) {
  return opened(file).file->size();
}

herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, size_t size, void* into) {
  opened(file).file->read(offset, {static_cast<std::byte*>(into), size});
  return 0;
}

herr_t write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, size_t size, const void* bytes) {
  return within_memory([&] {
    opened(file).file->write(offset, {static_cast<const std::byte*>(bytes), size});
  });
}

herr_t truncate(H5FD_t* file, hid_t, hbool_t) {
  return within_memory([&] { opened(file).file->resize(opened(file).end); });
}

hid_t registered_driver() {
  static const hid_t id = [] {
    static H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 2)
    driver.version = H5FD_CLASS_VERSION;
    driver.value = static_cast<H5FD_class_value_t>(511);  // of those for use by anybody
#endif
    driver.name = "lockstep_sparse";
    driver.maxaddr = HADDR_MAX / 2;
    driver.fc_degree = H5F_CLOSE_STRONG;
    driver.fapl_size = sizeof(SparseFile*);
    driver.open = open;
    driver.close = close;
    driver.query = query;
    driver.get_eoa = get_eoa;
    driver.set_eoa = set_eoa;
    driver.get_eof = get_eof;
    driver.read = read;
    driver.write = write;
    driver.truncate = truncate;
    const H5FD_mem_t one_kind_of_space[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
    std::copy_n(one_kind_of_space, H5FD_MEM_NTYPES, driver.fl_map);
    const hid_t registered = H5FDregister(&driver);
    check(registered, "H5FDregister");
    return registered;
  }();
  return id;
}

}  // namespace

void SparseFile::use_for(hid_t access_list) {
  SparseFile* self = this;
  check(H5Pset_driver(access_list, registered_driver(), &self), "H5Pset_driver");
}

void SparseFile::read(std::uint64_t offset, MutableByteView into) const {
  while (!into.empty()) {
    const std::size_t at = offset % kPageBytes;
    const std::size_t n = std::min(into.size(), kPageBytes - at);
    const auto page = pages_.find(offset / kPageBytes);
    if (page == pages_.end()) {
      std::memset(into.data(), 0, n);
    } else {
      std::memcpy(into.data(), page->second.data() + at, n);
    }
    into = into.subspan(n);
    offset += n;
  }
}

void SparseFile::write(std::uint64_t offset, ByteView bytes) {
  size_ = std::max<std::uint64_t>(size_, offset + bytes.size());
  while (!bytes.empty()) {
    const std::size_t at = offset % kPageBytes;
    const std::size_t n = std::min(bytes.size(), kPageBytes - at);
    std::memcpy(pages_[offset / kPageBytes].data() + at, bytes.data(), n);
    bytes = bytes.subspan(n);
    offset += n;
  }
}

}  // namespace lockstep::hdf5
