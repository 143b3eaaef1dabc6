#include "lockstep/checkpoint/sidecar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lockstep/core/error.h"
#include "lockstep/hash/merkle.h"

namespace lockstep::checkpoint {
namespace {

using testing::HasSubstr;

constexpr const char* kName = "step-00000500.h5";
constexpr const char* kSidecarName = "step-00000500.h5.sha256";
constexpr std::size_t kBlock = hash::kBlockBytes;

// Three blocks and a bit: metadata, two tensors one behind the other, one alone, a gap.
const std::vector<Region>& regions() {
  static const std::vector<Region> all{{4096, 100'000, "/state/a"},
                                       {104'096, 40'000, "/state/b"},
                                       {2 * kBlock + 30'000, kBlock + 10, "/state/c"}};
  return all;
}

const Bytes& file() {
  static const Bytes bytes = [] {
    Bytes out(3 * kBlock + 40'123);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::byte(i * 7 + i / 251);
    return out;
  }();
  return bytes;
}

const std::string& text() {
  static const std::string sidecar =
      format_sidecar(make_sidecar(file().size(), hash::block_digests(file()), regions()));
  return sidecar;
}

TEST(Sidecar, HasTheFormOfItsDescription) {
  const std::string start =
      "lockstep-sha256-tree 1 leaf=65536 length=236731 root=" + hash::tree_digest(file()).hex() +
      "\n" + hash::block_digest(ByteView(file()).first(kBlock)).hex() + "\n";
  EXPECT_THAT(text(), testing::StartsWith(start));
  EXPECT_THAT(text(), HasSubstr("\ntensor 4096 100000 /state/a\ntensor 104096 40000 /state/b\n"));
  EXPECT_EQ(std::count(text().begin(), text().end(), '\n'), 1 + 4 + 3 + 1);
}

TEST(Sidecar, AcceptsTheWholeFile) {
  EXPECT_FALSE(verify_sidecar(file(), text(), kName));
  const Sidecar read = parse_sidecar(text(), kSidecarName);
  EXPECT_EQ(read.root, hash::tree_digest(file()));
  EXPECT_EQ(read.tensors, regions());
  EXPECT_EQ(format_sidecar(read), text());
  const std::string empty = format_sidecar(make_sidecar(0, {}, {}));
  EXPECT_FALSE(verify_sidecar({}, empty, kName));
}

RC_GTEST_PROP(Sidecar, LocatesAnyChangedByteOfTheFile, ()) {
  Bytes changed = file();
  const auto at = *rc::gen::inRange<std::size_t>(0, changed.size());
  changed[at] ^= std::byte(*rc::gen::inRange(1, 256));
  const auto found = verify_sidecar(changed, text(), kName);
  RC_ASSERT(found.has_value());
  RC_ASSERT(found->file == kName);
  RC_ASSERT(found->begin <= at);
  RC_ASSERT(at < found->end);
  RC_ASSERT(found->end - found->begin <= kBlock);
  for (const Region& tensor : regions()) {
    if (tensor.offset <= at && at < tensor.offset + tensor.bytes) {
      RC_ASSERT(found->tensor.find(tensor.path) != std::string::npos);
    }
  }
}

// Every byte, not a sample: the text is small.
TEST(Sidecar, LocatesAnyChangedByteOfItself) {
  for (std::size_t at = 0; at < text().size(); ++at) {
    for (const int flip : {1, 2, 0x20, 0x80}) {
      std::string changed = text();
      changed[at] = static_cast<char>(changed[at] ^ flip);
      const auto found = verify_sidecar(file(), changed, kName);
      ASSERT_TRUE(found) << at;
      EXPECT_EQ(found->file, kSidecarName) << at;
      EXPECT_LE(found->begin, at) << found->line();
      EXPECT_LT(at, found->end) << found->line();
      EXPECT_THROW(parse_sidecar(changed, kSidecarName), Error) << at;
    }
  }
}

TEST(Sidecar, RefusesItselfCutOrExtendedAnywhere) {
  for (std::size_t length = 0; length < text().size(); ++length) {
    const auto found = verify_sidecar(file(), text().substr(0, length), kName);
    ASSERT_TRUE(found) << length;
    EXPECT_EQ(found->file, kSidecarName);
  }
  for (const char* extra : {"\n", " ", "x\n", "check \n"}) {
    EXPECT_TRUE(verify_sidecar(file(), text() + extra, kName));
  }
}

RC_GTEST_PROP(Sidecar, FindsAFileCutOrExtendedAnywhere, ()) {
  const auto length = *rc::gen::inRange<std::size_t>(0, file().size());
  const auto cut = verify_sidecar(ByteView(file()).first(length), text(), kName);
  RC_ASSERT(cut.has_value());
  RC_ASSERT(cut->what == "the file is cut off");
  RC_ASSERT(cut->begin == length);
  RC_ASSERT(cut->end == file().size());
  Bytes longer = file();
  longer.resize(longer.size() + *rc::gen::inRange<std::size_t>(1, 100'000));
  const auto extended = verify_sidecar(longer, text(), kName);
  RC_ASSERT(extended.has_value());
  RC_ASSERT(extended->what == "bytes were appended to the file");
  RC_ASSERT(extended->begin == file().size());
}

TEST(Sidecar, FindsSwappedBlocks) {
  Bytes swapped = file();
  std::swap_ranges(swapped.begin(), swapped.begin() + kBlock, swapped.begin() + kBlock);
  const auto found = verify_sidecar(swapped, text(), kName);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->line(),
            "step-00000500.h5, bytes 0 to 65536 (/state/a): the bytes differ from what was saved");
}

// A length that would ask for more leaves than memory holds.
TEST(Sidecar, RefusesAHostileLength) {
  std::string hostile = text();
  hostile.replace(hostile.find("length=236731"), 13, "length=18446744073709551615");
  const auto found = verify_sidecar(file(), hostile, kName);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->line(), HasSubstr("line 1"));
}

}  // namespace
}  // namespace lockstep::checkpoint
