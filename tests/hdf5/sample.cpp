// hdf5_sample PATH: writes the tests' canonical file.
#include <cstdio>
#include <exception>

#include "hdf5/some_file.h"

int main(int argc, char** argv) {
  using namespace lockstep;
  if (argc != 2) return 2;
  try {
    hdf5::publish_some(real_file_system(), argv[1], hdf5::some_specs());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
