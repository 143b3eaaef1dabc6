// Files by somebody who knows the format: canonical ones with a size or place changed and the
// checksums of the format made right again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "hdf5/some_file.h"
#include "lockstep/core/error.h"
#include "lockstep/hdf5/reader.h"

namespace lockstep::hdf5 {
namespace {

using testing::HasSubstr;

// Bob Jenkins' lookup3 (hashlittle, start value 0), the checksum of HDF5's metadata.
std::uint32_t lookup3(ByteView bytes) {
  const auto rotate = [](std::uint32_t x, int k) { return (x << k) | (x >> (32 - k)); };
  std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(bytes.size()), b = a, c = a;
  const auto add = [&](ByteView part) {
    std::uint32_t words[3] = {};
    std::memcpy(words, part.data(), part.size());
    a += words[0], b += words[1], c += words[2];
  };
  for (; bytes.size() > 12; bytes = bytes.subspan(12)) {
    add(bytes.first(12));
    a -= c, a ^= rotate(c, 4), c += b;
    b -= a, b ^= rotate(a, 6), a += c;
    c -= b, c ^= rotate(b, 8), b += a;
    a -= c, a ^= rotate(c, 16), c += b;
    b -= a, b ^= rotate(a, 19), a += c;
    c -= b, c ^= rotate(b, 4), b += a;
  }
  if (bytes.empty()) return c;
  add(bytes);
  c ^= b, c -= rotate(b, 14);
  a ^= c, a -= rotate(c, 11);
  b ^= a, b -= rotate(a, 25);
  c ^= b, c -= rotate(b, 16);
  a ^= c, a -= rotate(c, 4);
  b ^= a, b -= rotate(a, 14);
  c ^= b, c -= rotate(b, 24);
  return c;
}

// Two data sets of the same size; `first` is what the tests change.
const std::vector<DatasetSpec>& specs() {
  static const std::vector<DatasetSpec> both{{"/first", Type::kF32, {0x1235, 3}},
                                             {"/second", Type::kF32, {3, 0x1235}}};
  return both;
}

// The file and, in it, the object header of /first: [begin, end) without its checksum.
struct Victim {
  Bytes image;
  std::size_t begin = 0, end = 0;
  Extent first, second;

  Victim() {
    const std::string path = testing::TempDir() + "/hostile-" + std::to_string(::getpid()) + ".h5";
    publish_some(real_file_system(), path, specs());
    image = read_file(real_file_system(), path);
    real_file_system().remove(path);
    const Reader reader(image, "x.h5");
    first = reader.extents()[0];
    second = reader.extents()[1];

    const std::size_t dims = find(0, image.size(), 0x1235);
    for (begin = dims; std::memcmp(&image[begin], "OHDR", 4) != 0;) --begin;
    const int flags = std::to_integer<int>(image[begin + 5]);
    LOCKSTEP_ASSERT((flags & 0x30) == 0, "times or attribute limits in the header");
    const std::size_t width = std::size_t{1} << (flags & 3);  // of the size that follows
    std::uint64_t size = 0;
    std::memcpy(&size, &image[begin + 6], width);
    end = begin + 6 + width + size;
    LOCKSTEP_ASSERT(get_u32_le(ByteView(image).subspan(end, 4)) ==
                    lookup3(ByteView(image).subspan(begin, end - begin)));
  }

  std::size_t find(std::size_t from, std::size_t to, std::uint64_t value) const {
    for (std::size_t at = from; at + 8 <= to; ++at) {
      if (get_u64_le(ByteView(image).subspan(at, 8)) == value) return at;
    }
    LOCKSTEP_ASSERT(false, "the value is not there");
    return 0;
  }

  // In the header of /first.
  Victim& change(std::uint64_t from, std::uint64_t to) {
    std::memcpy(&image[find(begin, end, from)], &to, 8);
    const std::uint32_t checksum = lookup3(ByteView(image).subspan(begin, end - begin));
    std::memcpy(&image[end], &checksum, 4);
    return *this;
  }

  std::string refusal() const {
    try {
      const Reader reader(image, "x.h5", Code::kData);
      for (std::size_t i = 0; i < 2; ++i) {
        const ByteView data = reader.data(i);
        EXPECT_LE(data.data() + data.size(), image.data() + image.size());
      }
    } catch (const Error& error) {
      return error.code() == Code::kData ? error.what() : "wrong code";
    }
    return {};
  }
};

TEST(HostileFile, IsRefusedIfItsSizeOverflows) {
  // 12 bytes times 2^62 wraps to 0.
  EXPECT_THAT(Victim().change(0x1235, std::uint64_t{1} << 62).refusal(), HasSubstr("x.h5: /first"));
  EXPECT_THAT(Victim().change(0x1235, ~std::uint64_t{0}).refusal(), HasSubstr("x.h5: /first"));
  // 12 bytes times (2^62 + 0x1235) wraps to the very size that is stored.
  EXPECT_THAT(Victim().change(0x1235, (std::uint64_t{1} << 62) + 0x1235).refusal(),
              HasSubstr("x.h5: /first"));
}

TEST(HostileFile, IsRefusedIfItsShapeIsNotOfItsSize) {
  EXPECT_THAT(Victim().change(0x1235, 0x1236).refusal(), HasSubstr("x.h5: /first"));
  EXPECT_THAT(Victim().change(0x1235, 0x1234).refusal(), HasSubstr("x.h5: /first"));
  EXPECT_THAT(Victim().change(0x1235, 0).refusal(), HasSubstr("x.h5: /first"));
}

TEST(HostileFile, IsRefusedIfItsBytesAreOutsideOrOverOthers) {
  const Victim whole;
  const std::uint64_t offset = whole.first.offset;
  EXPECT_EQ(whole.refusal(), "");
  EXPECT_THAT(Victim().change(offset, whole.image.size()).refusal(), HasSubstr("x.h5: /first"));
  EXPECT_THAT(Victim().change(offset, ~std::uint64_t{0} - 100).refusal(),
              HasSubstr("x.h5: /first"));
  EXPECT_THAT(Victim().change(offset, whole.second.offset).refusal(),
              HasSubstr("not what its contents give"));
  EXPECT_THAT(Victim().change(offset, whole.second.offset - 8).refusal(),
              HasSubstr("not what its contents give"));
}

// Any structure made to point at any other: cycles, and things of the wrong kind.
TEST(HostileFile, IsRefusedWhereverItsPointersPoint) {
  std::vector<DatasetSpec> specs = some_specs();
  const std::string path = testing::TempDir() + "/cycles-" + std::to_string(::getpid()) + ".h5";
  publish_some(real_file_system(), path, specs);
  const Bytes image = read_file(real_file_system(), path);
  real_file_system().remove(path);
  const std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
  std::vector<std::uint64_t> parts;  // where structures begin
  for (const char* kind : {"OHDR", "OCHK", "FRHP", "FHIB", "FHDB", "BTHD"}) {
    for (std::size_t at = 0; (at = text.find(kind, at)) != std::string_view::npos; ++at)
      parts.push_back(at);
  }
  const auto is_part = [&](std::uint64_t value) {
    return std::find(parts.begin(), parts.end(), value) != parts.end();
  };
  const Skeleton skeleton = make_skeleton(specs, some_attributes());
  std::size_t pointers = 0;
  Bytes bad = image;
  for (const auto& piece : skeleton.metadata) {
    for (std::size_t at = piece.offset; at + 8 <= piece.offset + piece.bytes.size(); ++at) {
      const std::uint64_t old = get_u64_le(ByteView(image).subspan(at, 8));
      if (!is_part(old)) continue;
      ++pointers;
      for (const std::uint64_t to : parts) {
        if (to == old) continue;
        std::memcpy(&bad[at], &to, 8);
        EXPECT_THROW(Reader(bad, "x.h5"), Error) << at << " to " << to;
      }
      std::memcpy(&bad[at], &old, 8);
    }
  }
  EXPECT_GT(pointers, 30u);
  EXPECT_NO_THROW(Reader(bad, "x.h5"));
}

// A group that holds itself eight times, each time with all its bytes: 8^16 visits, were each free.
TEST(HostileFile, CostsNoMoreThanItsSize) {
  std::vector<DatasetSpec> specs;
  for (int i = 0; i < 8; ++i) specs.push_back({"/g/d" + std::to_string(i), Type::kU8, {1}});
  const std::string path = testing::TempDir() + "/fan-" + std::to_string(::getpid()) + ".h5";
  publish_some(real_file_system(), path, specs);
  Bytes image = read_file(real_file_system(), path);
  real_file_system().remove(path);
  const std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
  const std::uint64_t group = text.find("OHDR", 49);  // the first is the root group's
  for (int i = 0; i < 8; ++i) {
    const std::string name = "d" + std::to_string(i);
    std::memcpy(&image[text.find(name) + name.size()], &group, 8);
  }
  try {
    Reader(image, "x.h5");
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("its parts overlap others"));
  }
}

}  // namespace
}  // namespace lockstep::hdf5
