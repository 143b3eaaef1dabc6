#include "lockstep/hdf5/version.h"

#include "hdf5/door.h"

namespace lockstep::hdf5 {

std::string version() {
  const Door door;
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

}  // namespace lockstep::hdf5
