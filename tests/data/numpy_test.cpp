// Arrays of NumPy, byte by byte; tests/cli/pack_test.py has those that NumPy writes.
#include <cmath>

#include "data/support.h"
#include "lockstep/data/npz.h"
#include "lockstep/data/sources.h"

namespace lockstep::data {
namespace {

constexpr ImageShape kShape{3, 4, 5, 1};

std::string npy(const std::string& header, const std::string& values, char version = 1) {
  std::string text("\x93NUMPY", 6);
  text += {version, '\0', static_cast<char>(header.size()), '\0'};
  if (version != 1) text += std::string(2, '\0');
  return text + header + values;
}

std::string pixels() {
  const std::vector<std::uint8_t> values = some_pixels(kShape);
  return {values.begin(), values.end()};
}

std::string archive() {
  std::string file;
  NpzWriter writer([&](ByteView bytes) {
    file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  writer.begin_array("arr_0", "|u1", {kShape.n, kShape.h, kShape.w});
  const std::string values = pixels();
  writer.append(as_bytes(values));
  writer.begin_array("arr_1", "<i8", {kShape.n});
  writer.append(as_bytes(std::string(8 * kShape.n, '\0')));
  writer.finish();
  return file;
}

const std::string kHeader = "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4, 5), }   \n";

Source read(const TempPath& path, const std::string& file) {
  write_file(*path, file);
  return read_source(*path, {});
}

TEST(Numpy, HeadersOfOtherProgramsAreRead) {
  const TempPath path(".npy");
  for (const std::string& header :
       {kHeader, std::string("{\"shape\":(3,4,5),\"descr\":\"|u1\",\"fortran_order\":False}"),
        std::string("{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4, 5)}\n")}) {
    for (const char version : {'\1', '\2'}) {
      const Source source = read(path, npy(header, pixels(), version));
      EXPECT_EQ(source.all.images->pixels(), some_pixels(kShape)) << header;
      EXPECT_EQ(source.all.images->shape(), kShape);
    }
  }
}

TEST(Numpy, HeadersThatAreNoneAreRefused) {
  const TempPath path(".npy");
  for (const char* header :
       {"", "{", "{}", "()", "{'descr': '|u1'}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': ",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4, -5)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (3 4 5)}",
        "{'descr': '|u1', 'fortran_order': None, 'shape': (3, 4, 5)}",
        "{'descr': '|u3', 'fortran_order': False, 'shape': (3, 4, 5)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4, 5), 'more': 'x'}",
        "{'descr': '|u1', 'shape': (3, 4, 5), 'descr': '|u1'}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4, 6)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4, 4)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296)}"})
    error_line(Code::kData, [&] { read(path, npy(header, pixels())); });
  EXPECT_NE(error_line(Code::kData, [&] { read(path, npy(kHeader, pixels(), 3)); })
                .find("it has NumPy's format 3.0 (only formats 1.0 and 2.0 are read"),
            std::string::npos);
}

// Whose length field tells of the cut, so that the text itself ends early.
TEST(Numpy, EveryShortHeaderIsRefused) {
  const TempPath path(".npy");
  for (std::size_t size = 0; size < kHeader.find('}'); ++size)
    error_line(Code::kData, [&] { read(path, npy(kHeader.substr(0, size), pixels())); });
}

TEST(Numpy, EveryCutIsRefused) {
  const TempPath npy_path(".npy"), npz_path(".npz");
  const std::string one = npy(kHeader, pixels()), all = archive();
  EXPECT_EQ(read(npz_path, all).all.labels, Labels({0, 0, 0}));
  for (std::size_t size = 0; size < one.size(); ++size)
    error_line(Code::kData, [&] { read(npy_path, one.substr(0, size)); });
  for (std::size_t size = 0; size < all.size(); ++size)
    error_line(Code::kData, [&] { read(npz_path, all.substr(0, size)); });
}

// The bytes of numbers, in the machine's order, which is little-endian.
template <class T>
std::string text_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string head(const std::string& type, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + "}\n";
}

// Read from the file in pieces, so that places go on from piece to piece.
TEST(Numpy, TheFirstFloatThatIsNotFiniteIsNamedWhereverItIs) {
  const TempPath path(".npy");
  constexpr std::size_t kWidth = 1 << 20;
  std::vector<double> values(5 * kWidth, 0.5);
  values[4 * kWidth + 7] = 1e39;
  const std::string line = error_line(
      Code::kData, [&] { read(path, npy(head("<f8", "(5, 1048576)"), text_of(values))); });
  EXPECT_NE(line.find("sample 4 has 1e+39 at [7]"), std::string::npos) << line;
}

TEST(Numpy, FloatsAreFieldsAndSignals) {
  const TempPath path(".npy");
  const std::vector<float> values{1, -2, 3, 4, 5, 6, 7, 9};
  const Source fields = read(path, npy(head("<f4", "(2, 1, 2, 2)"), text_of(values)));
  EXPECT_EQ(fields.all.images->shape(), (ImageShape{2, 1, 2, 2, SampleKind::kFields}));
  EXPECT_EQ(fields.all.images->sample_shape(), (std::vector<std::int64_t>{1, 2, 2}));
  std::vector<float> out(4);
  fields.all.images->read(Sample(1), out.data());
  EXPECT_EQ(out, (std::vector<float>{5, 6, 7, 9}));
  ASSERT_EQ(fields.moments.size(), 2U);
  EXPECT_EQ(fields.moments[0].mean(), 4);
  EXPECT_EQ(fields.moments[0].deviation(), std::sqrt(5));
  EXPECT_EQ(fields.moments[1].least(), -2);
  EXPECT_EQ(fields.moments[1].most(), 9);
  const Source signals = read(path, npy(head("<f4", "(2, 4)"), text_of(values)));
  EXPECT_EQ(signals.all.images->shape(), (ImageShape{2, 1, 4, 1, SampleKind::kSignals}));
  EXPECT_EQ(signals.all.images->sample_shape(), (std::vector<std::int64_t>{4}));
  EXPECT_NE(signals.all.images->hash(), fields.all.images->hash());
}

// What is stored has a CRC; names of members have none.
TEST(Numpy, AChangedByteOfAnArchiveChangesNoPicture) {
  const TempPath path(".npz");
  const std::string whole = archive();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x41);
    try {
      EXPECT_EQ(read(path, changed).all.images->pixels(), some_pixels(kShape)) << at;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kData) << e.what();
    }
  }
}

}  // namespace
}  // namespace lockstep::data
