#include "lockstep/hdf5/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <rapidcheck/gtest.h>

#include <functional>

#include "hdf5/some_file.h"

namespace lockstep::hdf5 {
namespace {

using testing::HasSubstr;

// The message of the refusal of `image`; empty if it is accepted.
std::string refusal(ByteView image, Code expected = Code::kCorrupt) {
  try {
    Reader(image, "x.h5", expected);
  } catch (const Error& error) {
    return error.code() == expected ? error.what() : "wrong code";
  }
  return {};
}

std::string temporary(const std::string& name) {
  return testing::TempDir() + "/reader-" + std::to_string(::getpid()) + "-" + name;
}

Bytes read_and_remove(const std::string& path) {
  const Bytes bytes = read_file(real_file_system(), path);
  real_file_system().remove(path);
  return bytes;
}

const Bytes& canonical_image() {
  static const Bytes image = [] {
    const std::string path = temporary("canonical.h5");
    publish_some(real_file_system(), path, some_specs());
    return read_and_remove(path);
  }();
  return image;
}

// A file that HDF5 itself made by `make`, with the settings of canonical files but for what `make`
// does.
Bytes foreign_image(const std::function<void(hid_t)>& make) {
  const std::string path = temporary("foreign.h5");
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18);
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  H5Pset_alignment(access, 4096, 4096);
  const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_obj_track_times(creation, false);
  H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access);
  EXPECT_GE(file, 0);
  make(file);
  EXPECT_GE(H5Fclose(file), 0);
  H5Pclose(creation);
  H5Pclose(access);
  return read_and_remove(path);
}

using Dims = std::vector<hsize_t>;

void add_dataset(hid_t file, hid_t type, const Dims& dims,
                 const std::function<void(hid_t)>& change = {}) {
  const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
  const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(list, false);
  H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(list, H5D_FILL_TIME_NEVER);
  if (change) change(list);
  const hid_t id = H5Dcreate2(file, "d", type, space, H5P_DEFAULT, list, H5P_DEFAULT);
  EXPECT_GE(id, 0);
  H5Dclose(id);
  H5Pclose(list);
  H5Sclose(space);
}

std::string refusal_of(const std::function<void(hid_t)>& make) {
  return refusal(foreign_image(make));
}

TEST(Reader, AcceptsWhatHdf5MakesWithTheSameSettings) {
  EXPECT_EQ(refusal_of([](hid_t file) { add_dataset(file, H5T_IEEE_F32LE, {3, 4}); }), "");
}

TEST(Reader, RefusesTheSameContentsLaidOutInAnotherWay) {
  const auto made_with = [](const std::function<void(hid_t)>& change) {
    return refusal_of([&](hid_t file) { add_dataset(file, H5T_IEEE_F32LE, {3, 4}, change); });
  };
  EXPECT_THAT(made_with([](hid_t list) { H5Pset_fill_time(list, H5D_FILL_TIME_ALLOC); }),
              HasSubstr("not what its contents give"));
  EXPECT_THAT(made_with([](hid_t list) { H5Pset_obj_track_times(list, true); }),
              HasSubstr("/d: an object header of a form"));
  EXPECT_THAT(refusal_of([](hid_t file) {
                add_dataset(file, H5T_IEEE_F32LE, {3, 4});
                H5Gclose(H5Gcreate2(file, "empty", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
              }),
              HasSubstr("x.h5: "));
}

TEST(Reader, RefusesSoftAndExternalLinks) {
  EXPECT_THAT(refusal_of([](hid_t file) {
                H5Lcreate_soft("/elsewhere", file, "d", H5P_DEFAULT, H5P_DEFAULT);
              }),
              HasSubstr("soft or external link"));
  EXPECT_THAT(refusal_of([](hid_t file) {
                H5Lcreate_external("/etc/passwd", "/", file, "d", H5P_DEFAULT, H5P_DEFAULT);
              }),
              HasSubstr("soft or external link"));
}

TEST(Reader, RefusesASecondNameAndACycle) {
  EXPECT_THAT(refusal_of([](hid_t file) {
                add_dataset(file, H5T_IEEE_F32LE, {4});
                H5Lcreate_hard(file, "d", file, "e", H5P_DEFAULT, H5P_DEFAULT);
              }),
              HasSubstr("several names"));
  EXPECT_THAT(refusal_of([](hid_t file) {
                H5Lcreate_hard(file, "/", file, "loop", H5P_DEFAULT, H5P_DEFAULT);
              }),
              HasSubstr("x.h5: /: an object with several names"));
}

TEST(Reader, RefusesStorageThatIsNotPlain) {
  EXPECT_THAT(refusal_of([](hid_t file) {
                add_dataset(file, H5T_IEEE_F32LE, {8, 8}, [](hid_t list) {
                  const hsize_t chunk[2] = {4, 4};
                  H5Pset_chunk(list, 2, chunk);
                });
              }),
              HasSubstr("/d: not contiguous"));
  EXPECT_THAT(refusal_of([](hid_t file) {
                add_dataset(file, H5T_IEEE_F32LE, {8, 8}, [](hid_t list) {
                  const hsize_t chunk[2] = {4, 4};
                  H5Pset_chunk(list, 2, chunk);
                  H5Pset_deflate(list, 9);
                });
              }),
              HasSubstr("/d: compressed or filtered"));
  EXPECT_THAT(refusal_of([](hid_t file) {
                add_dataset(file, H5T_IEEE_F32LE, {8},
                            [](hid_t list) { H5Pset_layout(list, H5D_COMPACT); });
              }),
              HasSubstr("/d: not contiguous"));
  EXPECT_THAT(refusal_of([](hid_t file) {
                add_dataset(file, H5T_IEEE_F32LE, {8},
                            [](hid_t list) { H5Pset_external(list, "/etc/passwd", 0, 32); });
              }),
              HasSubstr("/d: its bytes are in other files"));
}

TEST(Reader, RefusesOtherTypesAndShapes) {
  for (const hid_t type : {H5T_IEEE_F64LE, H5T_STD_U16LE, H5T_C_S1, H5T_STD_REF_OBJ}) {
    EXPECT_THAT(refusal_of([&](hid_t file) { add_dataset(file, type, {8}); }),
                HasSubstr("/d: an element type"));
  }
  // Of the same size as ours: the description of the type has other bytes.
  for (const hid_t type :
       {H5T_IEEE_F32BE, H5T_STD_I64BE, H5T_STD_I8LE, H5T_STD_U64LE, H5T_STD_I32LE, H5T_STD_U32BE}) {
    EXPECT_THAT(refusal_of([&](hid_t file) { add_dataset(file, type, {8}); }),
                HasSubstr("not what its contents give"));
  }
  const hid_t compound = H5Tcreate(H5T_COMPOUND, 4);
  H5Tinsert(compound, "x", 0, H5T_IEEE_F32LE);
  EXPECT_THAT(refusal_of([&](hid_t file) { add_dataset(file, compound, {8}); }),
              HasSubstr("/d: an element type"));
  EXPECT_NE(refusal_of([&](hid_t file) {
              H5Tcommit2(file, "t", compound, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
            }),
            "");
  H5Tclose(compound);
  EXPECT_THAT(refusal_of([](hid_t file) {
                add_dataset(file, H5T_IEEE_F32LE, {3, 0});
              }),
              HasSubstr("/d: an odd shape"));
  EXPECT_THAT(refusal_of([](hid_t file) { add_dataset(file, H5T_IEEE_F32LE, Dims(9, 1)); }),
              HasSubstr("/d: an odd shape"));
}

TEST(Reader, RefusesSizesThatOverflowOrAreNotThere) {
  const auto late = [](hid_t list) { H5Pset_alloc_time(list, H5D_ALLOC_TIME_LATE); };
  EXPECT_THAT(refusal_of([&](hid_t file) { add_dataset(file, H5T_IEEE_F32LE, {8}, late); }),
              HasSubstr("x.h5: /d: its"));
  EXPECT_THAT(refusal_of([&](hid_t file) {
                add_dataset(file, H5T_IEEE_F32LE, {hsize_t{1} << 31, hsize_t{1} << 28}, late);
              }),
              HasSubstr("x.h5: /d: its"));
}

TEST(Reader, RefusesAttributesThatItDoesNotKnow) {
  const auto attribute = [](hid_t type, const Dims& dims) {
    return refusal_of([&](hid_t file) {
      const hid_t space =
          dims.empty() ? H5Screate(H5S_SCALAR)
                       : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
      H5Aclose(H5Acreate2(file, "a", type, space, H5P_DEFAULT, H5P_DEFAULT));
      H5Sclose(space);
    });
  };
  EXPECT_THAT(attribute(H5T_STD_I64LE, {3}), HasSubstr("a: not a scalar"));
  EXPECT_THAT(attribute(H5T_IEEE_F32LE, {}), HasSubstr("a: neither"));
  EXPECT_THAT(attribute(H5T_C_S1, {}), HasSubstr("a: a NUL in its text"));
  const hid_t variable = H5Tcopy(H5T_C_S1);
  H5Tset_size(variable, H5T_VARIABLE);
  EXPECT_THAT(attribute(variable, {}), HasSubstr("a: neither"));
  H5Tclose(variable);
}

TEST(Reader, RefusesWhatIsNotHdf5AtAll) {
  EXPECT_THAT(refusal({}), HasSubstr("x.h5: not an HDF5 file"));
  EXPECT_THAT(refusal(as_bytes(std::string(100, 'x')), Code::kData), HasSubstr("not an HDF5 file"));
}

TEST(Reader, RefusesAFileCutAnywhereOrAppendedTo) {
  const Bytes& image = canonical_image();
  for (std::size_t length = 0; length < image.size(); length += length < 8192 ? 1 : 997) {
    EXPECT_NE(refusal(ByteView(image).first(length)), "") << length;
  }
  Bytes longer = image;
  longer.push_back(std::byte{0});
  EXPECT_THAT(refusal(longer), HasSubstr("cut off or appended to"));
}

TEST(Reader, RefusesAnyChangedByteOfMetadata) {
  Bytes image = canonical_image();
  const Skeleton skeleton = make_skeleton(some_specs(), some_attributes());
  for (const auto& piece : skeleton.metadata) {
    for (std::size_t i = 0; i < piece.bytes.size(); ++i) {
      if (piece.bytes[i] == std::byte{0} && i % 16 != 0) continue;  // mostly gaps
      std::byte& byte = image[piece.offset + i];
      byte ^= std::byte(1 << (i % 8));
      EXPECT_NE(refusal(image), "") << piece.offset + i;
      byte ^= std::byte(1 << (i % 8));
    }
  }
  EXPECT_EQ(refusal(image), "");
}

// So many links that HDF5 keeps them in tables of tables.
TEST(Reader, FindsEveryDataSetOfALargeGroup) {
  std::vector<DatasetSpec> specs;
  for (int i = 0; i < 3000; ++i)
    specs.push_back({"/g/" + std::string(240, 'x') + std::to_string(i), Type::kU8, {1}});
  const std::string path = temporary("large.h5");
  publish_some(real_file_system(), path, specs);
  const Bytes image = read_and_remove(path);
  const Reader reader(image, "x.h5");
  EXPECT_EQ(reader.datasets(), specs);
}

TEST(Reader, NamesWhatIsMissingOrOfAnotherKind) {
  const Reader reader(canonical_image(), "x.h5", Code::kData);
  EXPECT_EQ(reader.data("/state/cursor", Type::kI64, {}).size(), 8u);
  const auto message = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.code() == Code::kData ? error.what() : "wrong code";
    }
    return "nothing";
  };
  EXPECT_THAT(message([&] { reader.find("/state/nothing"); }), HasSubstr("/state/nothing"));
  EXPECT_THAT(message([&] { reader.data("/state/cursor", Type::kI64, {1}); }),
              HasSubstr("another shape"));
  EXPECT_THAT(message([&] { reader.text("step"); }), HasSubstr("attribute step"));
  EXPECT_THAT(message([&] { reader.integer("format"); }), HasSubstr("attribute format"));
  EXPECT_THAT(message([&] { reader.integer("nothing"); }), HasSubstr("no attribute nothing"));
}

}  // namespace
}  // namespace lockstep::hdf5
