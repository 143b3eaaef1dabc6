// Which HDF5 this process runs with; for the fingerprint.
#pragma once

#include <string>

namespace lockstep::hdf5 {

std::string version();  // of the HDF5 library in use, "1.10.8"

}  // namespace lockstep::hdf5
