// Every use of the HDF5 library in this folder goes through here.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "lockstep/hdf5/canonical.h"

namespace lockstep::hdf5 {

// Held during every use of HDF5. One thread at a time (so a build of HDF5 without threads will do);
// plug-ins and HDF5's own printing of errors are off.
class Door {
 public:
  // data_sets: how many are made inside. Error(kEnvironment) if there may be too little memory for
  // them: HDF5 itself crashes when it has none left.
  explicit Door(std::size_t data_sets = 0);

 private:
  std::unique_lock<std::mutex> lock_;
};

// The innermost message on HDF5's error stack, or "no reason given".
std::string last_error();

// Error(kEnvironment): HDF5 works in memory here, so only memory can be lacking.
[[noreturn]] void fail(const std::string& what);
// The same, with the last error, if `status`, which `call` returned, is negative.
void check(std::int64_t status, const char* call);

// For HDF5's callbacks: no exception may pass through its C. Without memory the callback fails.
template <class Body>
herr_t within_memory(Body&& body) noexcept {
  try {
    body();
    return 0;
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

// An HDF5 id with its closing function.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close closer) : id_(id), close_(closer) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;

  operator hid_t() const { return id_; }
  // Closes now and says whether that worked: for files, whose metadata is written on closing.
  bool close() { return close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_;
  Close close_;
};

hid_t file_type(Type type);  // the library's constant; not to be closed

// Printable ASCII except space and slash, at most 255 bytes, not "." or "..".
bool is_name(std::string_view name);

inline constexpr std::size_t kMaxAttributes = 8;  // HDF5 stores more in another way ("dense")
inline constexpr std::size_t kMaxTextBytes = 4096;
inline constexpr int kMaxRank = 8;

}  // namespace lockstep::hdf5
