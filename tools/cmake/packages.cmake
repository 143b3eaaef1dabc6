# Outside libraries. Each has one owning folder (docs/architecture.md, layers); only LibTorch's tensors travel upward.
find_package(Threads REQUIRED)
if(LOCKSTEP_WHEEL)
  include(wheel)  # the same targets without shared libraries
else()
  find_package(spdlog REQUIRED CONFIG)            # core
  set(HDF5_PREFER_PARALLEL OFF)
  find_package(HDF5 REQUIRED COMPONENTS C)        # hdf5
  find_package(tomlplusplus REQUIRED CONFIG)      # recipe
endif()
find_package(hwy REQUIRED CONFIG)                 # numerics
find_package(OpenSSL REQUIRED COMPONENTS Crypto)  # hash
find_package(nlohmann_json REQUIRED CONFIG)       # core
find_package(PNG REQUIRED)                        # data
find_package(JPEG REQUIRED)                       # data
find_package(ZLIB REQUIRED)                       # data
if(NOT LOCKSTEP_FUZZ)
  find_package(CLI11 REQUIRED CONFIG)             # tools/lockstep
  include(libtorch)                               # ops
  include(cuda)                                   # comm, numerics
  if(LOCKSTEP_TESTS)
    find_package(GTest REQUIRED CONFIG)
    find_package(rapidcheck REQUIRED CONFIG)
  endif()
endif()
