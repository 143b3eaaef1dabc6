# Preset `wheel`: a program that runs wherever PyTorch's wheel does (tools/wheel). It asks for nothing that glibc 2.28 and
# the libstdc++ of GCC 8 lack, and of libraries needs LibTorch alone.
add_subdirectory(${CMAKE_SOURCE_DIR}/tools/old_system)
set(old ${CMAKE_BINARY_DIR}/old_system)

# What the libstdc++ of GCC 8 has not comes from GCC's archive and stays inside, as in PyTorch's own libraries. It stands
# before LibTorch (tools/cmake/libtorch.cmake), which shows its own copies. libpthread and libdl are for systems where they
# are not yet part of libc.
set(LOCKSTEP_STANDARD_LIBRARY -l:libstdc++.so.6 -l:libstdc++.a)
string(CONCAT CMAKE_CXX_STANDARD_LIBRARIES
  "-nodefaultlibs -l:libstdc++.so.6 -l:libstdc++.a -lm -lgcc_s -l:libmissing.a "
  "-Wl,--push-state,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -Wl,--pop-state "
  "-l:libc.so.6 -l:libc_nonshared.a -l:ld-linux-x86-64.so.2 -lgcc")
add_link_options(-L${old} LINKER:--exclude-libs,ALL LINKER:--allow-shlib-undefined)
string(APPEND CMAKE_EXE_LINKER_FLAGS " -Wl,-e,start_with_constructors ${old}/start.o")

# The archives of other libraries, or their headers alone.
list(PREPEND CMAKE_FIND_LIBRARY_SUFFIXES .a)
add_library(hdf5::hdf5 STATIC IMPORTED)
find_library(HDF5_LIBRARY hdf5_serial REQUIRED)
find_library(SZ_LIBRARY sz REQUIRED)
find_library(AEC_LIBRARY aec REQUIRED)
find_package(ZLIB REQUIRED)
find_path(HDF5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial REQUIRED)
set_target_properties(hdf5::hdf5 PROPERTIES IMPORTED_LOCATION ${HDF5_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${HDF5_INCLUDE_DIR}
                      INTERFACE_LINK_LIBRARIES "${SZ_LIBRARY};${AEC_LIBRARY};ZLIB::ZLIB")
add_library(spdlog::spdlog INTERFACE IMPORTED)
set_target_properties(spdlog::spdlog PROPERTIES INTERFACE_COMPILE_DEFINITIONS "SPDLOG_FMT_EXTERNAL;FMT_HEADER_ONLY")
add_library(tomlplusplus::tomlplusplus INTERFACE IMPORTED)

# Gloo has no archive in Debian: from its source (tools/bootstrap --wheel), and of it what moves bytes over TCP.
set(GLOO_INCLUDE_DIR ${CMAKE_SOURCE_DIR}/.deps/gloo)
file(STRINGS ${GLOO_INCLUDE_DIR}/CMakeLists.txt versions REGEX "^set\\(GLOO_VERSION_[A-Z]+ [0-9]+\\)")
foreach(version ${versions})
  string(REGEX MATCH "(GLOO_VERSION_[A-Z]+) ([0-9]+)" version ${version})
  set(${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
endforeach()
set(GLOO_HAVE_TRANSPORT_TCP ON)
configure_file(${GLOO_INCLUDE_DIR}/gloo/config.h.in ${CMAKE_BINARY_DIR}/gloo/gloo/config.h)
file(GLOB gloo_sources ${GLOO_INCLUDE_DIR}/gloo/common/[elu]*.cc ${GLOO_INCLUDE_DIR}/gloo/transport/*.cc
     ${GLOO_INCLUDE_DIR}/gloo/transport/tcp/*.cc)
add_library(gloo STATIC ${gloo_sources})
target_include_directories(gloo SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/gloo ${GLOO_INCLUDE_DIR})
set(GLOO_LIBRARY gloo)
