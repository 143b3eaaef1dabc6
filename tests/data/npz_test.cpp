// Archives of samples: what is read back is what was written, and nothing else is read. NumPy reads
// them in tests/cli/sample_test.py.
#include "lockstep/data/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lockstep/core/error.h"
#include "support/temporary_folder.h"

namespace lockstep::data {
namespace {

using ::testing::ElementsAre;

class Npz : public ::testing::Test {
 protected:
  static Bytes written() {
    Bytes file;
    NpzWriter npz([&](ByteView piece) { file.insert(file.end(), piece.begin(), piece.end()); });
    npz.begin_array("arr_0", "|u1", {2, 1, 2, 1});
    npz.append(as_bytes("abcd"));
    npz.begin_array("points", "<f4", {1, 2});
    npz.append(as_bytes("12345678"));
    npz.begin_array("labels", "<i8", {2});
    npz.append(as_bytes("123456781234567"));
    npz.append(as_bytes("8"));
    npz.begin_file("provenance.txt");
    npz.append(as_bytes("step: 2\n"));
    npz.finish();
    return file;
  }

  std::vector<NpzMember> read(ByteView bytes) const {
    publish(real_file_system(), path_, bytes);
    return read_npz(path_);
  }

  void refuses(ByteView bytes, const std::string& which) const {
    try {
      read(bytes);
      ADD_FAILURE() << which;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kCorrupt) << error.what();
    }
  }

  lockstep::testing::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "a.npz";
};

TEST_F(Npz, IsReadAsItWasWritten) {
  const auto members = read(written());
  ASSERT_EQ(members.size(), 4U);
  EXPECT_EQ(members[0].name, "arr_0.npy");
  EXPECT_EQ(members[0].type, "|u1");
  EXPECT_THAT(members[0].shape, ElementsAre(2, 1, 2, 1));
  EXPECT_EQ(members[1].type, "<f4");
  EXPECT_THAT(members[1].shape, ElementsAre(1, 2));
  EXPECT_EQ(members[2].name, "labels.npy");
  EXPECT_EQ(members[2].type, "<i8");
  EXPECT_THAT(members[2].shape, ElementsAre(2));
  EXPECT_EQ(members[3].text, "step: 2\n");
}

TEST_F(Npz, WhoseValuesAreNotAsManyAsItsShapeSaysIsRefused) {
  for (const char* type : {"|u1", "<f4", "<i8", "<i4"}) {
    for (const std::int64_t count : {1, 2, 3, 4, 5, 8, 9, 16}) {
      Bytes file;
      NpzWriter npz([&](ByteView piece) { file.insert(file.end(), piece.begin(), piece.end()); });
      npz.begin_array("arr_1", type, {count});
      npz.append(as_bytes("12345678"));
      npz.finish();
      const std::string which = std::string(type) + " " + std::to_string(count);
      if (which == "|u1 8" || which == "<f4 2" || which == "<i8 1")
        EXPECT_EQ(read(file).size(), 1U) << which;
      else
        refuses(file, which);
    }
  }
}

TEST_F(Npz, WithAnyOtherByteIsRefused) {
  Bytes bytes = written();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{1};
    refuses(bytes, "byte " + std::to_string(i));
    bytes[i] ^= std::byte{1};
  }
}

TEST_F(Npz, CutOrLongerIsRefused) {
  const Bytes bytes = written();
  for (std::size_t size = 0; size < bytes.size(); size += 7)
    refuses(ByteView(bytes).first(size), "cut at " + std::to_string(size));
  Bytes longer = bytes;
  longer.push_back(std::byte{0});
  refuses(longer, "longer");
  longer = bytes;
  longer.insert(longer.begin(), std::byte{0});
  refuses(longer, "begins later");
}

}  // namespace
}  // namespace lockstep::data
