#include "hdf5/door.h"

#include <algorithm>

#include "lockstep/core/error.h"

namespace lockstep::hdf5 {
namespace {

std::mutex& door_mutex() {
  static std::mutex mutex;
  return mutex;
}

herr_t keep_first(unsigned, const H5E_error2_t* error, void* text) {
  auto& message = *static_cast<std::string*>(text);
  if (message.empty() && error->desc != nullptr) message = error->desc;
  return 0;
}

}  // namespace

Door::Door() : lock_(door_mutex()) {
  LOCKSTEP_ASSERT(H5open() >= 0, "HDF5 does not start");
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // a setting of the calling thread
  H5PLset_loading_state(0);
}

std::string last_error() {
  std::string message;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &message);
  return message.empty() ? "no reason given" : message;
}

hid_t file_type(Type type) {
  switch (type) {
    case Type::kF32:
      return H5T_IEEE_F32LE;
    case Type::kU8:
      return H5T_STD_U8LE;
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
