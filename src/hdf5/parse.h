// What a canonical file seems to hold, read without the HDF5 library, which is not safe on hostile
// bytes. It is only a guess: the Reader makes the file's skeleton anew from it and compares every
// byte. So only what the Reader needs for its own safety is checked here.
#pragma once

#include <string>
#include <vector>

#include "lockstep/hdf5/canonical.h"

namespace lockstep::hdf5 {

struct Description {
  std::vector<DatasetSpec> specs;     // fit for make_skeleton; together smaller than the image
  std::vector<Attribute> attributes;  // by name
};

// Why a file is not accepted; the Reader adds its name.
struct Refusal {
  std::string what;
};

// Throws Refusal. Time and memory: linear in the image's size, whatever it holds.
Description parse(ByteView image);

}  // namespace lockstep::hdf5
