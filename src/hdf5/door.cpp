#include "hdf5/door.h"

#include <algorithm>
#include <cstdlib>

#include "lockstep/core/error.h"

namespace lockstep::hdf5 {
namespace {

// Bytes that HDF5 has at most at a time, measured and doubled.
constexpr std::size_t kMemory = std::size_t{2} << 20, kMemoryOfDataSet = std::size_t{12} << 10;

void require_memory(std::size_t bytes) {
  void* volatile probe = std::malloc(bytes);  // volatile: else the compiler may leave both out
  if (probe == nullptr) fail("there is not enough memory");
  std::free(probe);
}

std::mutex& door_mutex() {
  static std::mutex mutex;
  return mutex;
}

herr_t keep_first(unsigned, const H5E_error2_t* error, void* text) {
  auto& message = *static_cast<std::string*>(text);
  return within_memory([&] {
    if (message.empty() && error->desc != nullptr) message = error->desc;
  });
}

}  // namespace

Door::Door(std::size_t data_sets) : lock_(door_mutex()) {
  require_memory(kMemory + data_sets * kMemoryOfDataSet);
  // Closes nothing at the program's end: no file of ours is on disk, and HDF5 would crash when it
  // tries again to close what it could not close for lack of memory.
  [[maybe_unused]] static const herr_t nothing_at_exit = H5dont_atexit();
  check(H5open(), "H5open");
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // a setting of the calling thread
  H5PLset_loading_state(0);
}

std::string last_error() {
  std::string message;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &message);
  return message.empty() ? "no reason given" : message;
}

void fail(const std::string& what) {
  throw Error(Code::kEnvironment, "cannot lay out an HDF5 file: " + what);
}

void check(std::int64_t status, const char* call) {
  if (status < 0) fail(std::string(call) + ": " + last_error());
}

hid_t file_type(Type type) {
  switch (type) {
    case Type::kF32:
      return H5T_IEEE_F32LE;
    case Type::kU8:
      return H5T_STD_U8LE;
    case Type::kU32:
      return H5T_STD_U32LE;
    case Type::kI64:
      return H5T_STD_I64LE;
  }
  LOCKSTEP_ASSERT(false, "no such type");
  return -1;
}

bool is_name(std::string_view name) {
  const auto allowed = [](char c) { return c > ' ' && c <= '~' && c != '/'; };
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), allowed);
}

}  // namespace lockstep::hdf5
