#include "lockstep/data/pack.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lockstep/data/idx.h"
#include "support.h"

namespace lockstep::data {
namespace {

constexpr ImageShape kShape{11, 8, 7, 3};

std::string packed_text(const Images& images) {
  const TempPath path(".h5");
  write_pack(*path, images);
  return file_text(*path);
}

const Images& some_images() {
  static const Images images(kShape, some_pixels(kShape));
  return images;
}

const std::string& some_pack() {
  static const std::string text = packed_text(some_images());
  return text;
}

std::string refusal(const std::string& bytes) {
  const TempPath path(".h5");
  write_file(*path, bytes);
  const std::string line = error_line(Code::kData, [&] { read_pack(*path); });
  EXPECT_NE(line.find((*path).string()), std::string::npos) << line;
  return line;
}

RC_GTEST_PROP(Pack, ImagesComeBackWithTheSameHash, ()) {
  const ImageShape shape{*rc::gen::inRange(1, 90), *rc::gen::inRange(1, 12),
                         *rc::gen::inRange(1, 12), *rc::gen::element(1, 3)};
  const Images images(shape, some_pixels(shape));
  const TempPath path(".h5");
  write_pack(*path, images);
  RC_ASSERT(is_pack(*path));
  const auto back = read_pack(*path);
  RC_ASSERT(back->shape() == shape);
  RC_ASSERT(back->pixels() == images.pixels());
  RC_ASSERT(back->hash() == images.hash());
}

TEST(Pack, EveryContainerOfTheSameImagesHasTheSameHash) {
  const TempPath idx, gz(".gz"), packed(".h5");
  const std::string text = idx_text(kShape, some_images().pixels());
  write_file(*idx, text);
  write_file(*gz, gzip(text));
  write_pack(*packed, some_images());
  for (const auto* path : {&idx, &gz, &packed}) {
    Options options;
    move_to(options, (**path).string());
    EXPECT_EQ(open(options)->hash(), some_images().hash()) << **path;
  }
}

TEST(Pack, ASecondFileReplacesTheFirstAndHasTheSameBytes) {
  const TempPath path(".h5");
  write_pack(*path, Images({1, 1, 1, 1}, {9}));
  write_pack(*path, some_images());
  EXPECT_EQ(file_text(*path), some_pack());
}

TEST(Pack, H5pyReadsIt) {
  const TempPath path(".h5"), out;
  write_pack(*path, some_images());
  const std::string command = std::string(LOCKSTEP_PYTHON) + " -I " LOCKSTEP_READ_PACK " " +
                              (*path).string() + " > " + (*out).string();
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  const std::string hash = some_images().hash().hex();
  EXPECT_EQ(file_text(*out), "lockstep images\n1\n" + hash + "\nlockstep images 1 11 8 7 3 " +
                                 hash + "\n11 8 7 3 uint8\n" +
                                 to_hex(std::as_bytes(std::span(some_images().pixels()))) + "\n");
}

RC_GTEST_PROP(Pack, AnyChangedByteIsRefused, ()) {
  std::string text = some_pack();
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = static_cast<char>(text[at] ^ *rc::gen::inRange(1, 256));
  refusal(text);
}

RC_GTEST_PROP(Pack, EveryTruncationAndExtensionIsRefused, ()) {
  std::string text = some_pack();
  text.resize(
      *rc::gen::distinctFrom(rc::gen::inRange<std::size_t>(0, 2 * text.size()), text.size()));
  refusal(text);
}

TEST(Pack, AStatedHashThatIsNotTheContentsIsRefused) {
  std::string text = some_pack();
  // A file that is perfect but for its pixels: what a careless editor with h5py would make.
  const std::string pixels(some_images().pixels().begin(), some_images().pixels().end());
  const std::size_t at = text.find(pixels);
  ASSERT_NE(at, std::string::npos);
  text[at + 100] = static_cast<char>(text[at + 100] ^ 1);
  EXPECT_NE(refusal(text).find("states " + some_images().hash().hex()), std::string::npos);
}

TEST(Pack, HostileStampsAreRefusedBeforeMemoryIsTaken) {
  const std::string hash(64, 'a');
  const auto stamped = [&](const std::string& sizes) {
    return refusal("\x89HDF\r\n\x1a\n lockstep images 1 " + sizes + " " + hash);
  };
  EXPECT_NE(stamped("9223372036854775807 65535 65535 3").find("64 GiB"), std::string::npos);
  EXPECT_NE(stamped("1 9223372036854775807 9223372036854775807 3").find("65535"),
            std::string::npos);
  EXPECT_NE(stamped("60000 1000 1000 1").find("truncated"), std::string::npos);
  stamped("-1 2 2 1");
  stamped("99999999999999999999 2 2 1");
  stamped("");
  refusal("\x89HDF\r\n\x1a\n lockstep images 1 2 2 2 1 " + hash.substr(1));
  refusal("\x89HDF\r\n\x1a\n lockstep images 1 2 2 2 1 " + hash.substr(1) + "G");
  refusal("\x89HDF\r\n\x1a\n");
  refusal("");
}

TEST(Pack, AFileThatCannotBeWrittenIsAnErrorOfTheEnvironment) {
  error_line(Code::kEnvironment, [] { write_pack("/nowhere/at/all.h5", some_images()); });
}

TEST(Pack, BytesAreFrozen) {
  EXPECT_EQ(hash::sha256(as_bytes(some_pack())).hex(),
            "9c181999c6b350c7f84f5489b3f33560ae05aaa21c0fe8a94df4528824aa22b6");
}

}  // namespace
}  // namespace lockstep::data
