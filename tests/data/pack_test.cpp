#include "lockstep/data/pack.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lockstep/data/idx.h"
#include "pack_testing.h"
#include "support.h"

namespace lockstep::data {
namespace {

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const std::string& some_pack() {
  static const std::string text = packed_text(some_images());
  return text;
}

const Labels kLabels{0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30};
constexpr const char* kLabelledHash =
    "da7c651ecb04cfb3657671d5329838b02f409cdde4b490a115ef8ea18cf5b02a";

const std::string& labelled_pack() {
  static const std::string text = packed_text(some_images(), kLabels);
  return text;
}

RC_GTEST_PROP(Pack, ImagesComeBackWithTheSameHash, ()) {
  const ImageShape shape{*rc::gen::inRange(1, 90), *rc::gen::inRange(1, 12),
                         *rc::gen::inRange(1, 12), *rc::gen::element(1, 3)};
  const Images images(shape, some_pixels(shape));
  const TempPath path(".h5");
  write_pack(*path, images);
  RC_ASSERT(is_pack(*path));
  const auto back = read_pack(*path).images;
  RC_ASSERT(back->shape() == shape);
  RC_ASSERT(back->pixels() == images.pixels());
  RC_ASSERT(back->hash() == images.hash());
}

// Any bytes are floats.
RC_GTEST_PROP(Pack, FieldsAndSignalsComeBackWithTheSameHash, ()) {
  const bool signals = *rc::gen::arbitrary<bool>();
  const std::int64_t n = *rc::gen::inRange(1, 90), w = *rc::gen::inRange(1, 20);
  const ImageShape shape = signals ? ImageShape{n, 1, w, 1, SampleKind::kSignals}
                                   : ImageShape{n, *rc::gen::inRange(1, 12), w,
                                                *rc::gen::inRange(1, 5), SampleKind::kFields};
  const Images arrays(shape, some_pixels(shape));
  const Labels labels(static_cast<std::size_t>(*rc::gen::arbitrary<bool>() ? n : 0), 3);
  const TempPath path(".h5");
  write_pack(*path, arrays, labels);
  const LabelledImages back = read_pack(*path);
  RC_ASSERT(back.images->shape() == shape);
  RC_ASSERT(back.images->pixels() == arrays.pixels());
  RC_ASSERT(back.images->hash() == arrays.hash());
  RC_ASSERT(back.labels == labels);
  RC_ASSERT(arrays.hash() != Images({n, 1, w, 4}, some_pixels({n, 1, w, 4})).hash());
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
  const TempPath path(".h5");
  write_pack(*path, some_images());
  const std::string hash = some_images().hash().hex();
  EXPECT_EQ(seen_by_h5py(*path), "lockstep images\n1\n" + hash + "\nlockstep images 1 11 8 7 3 " +
                                     hash + "\n11 8 7 3 uint8\n" +
                                     to_hex(std::as_bytes(std::span(some_images().pixels()))) +
                                     "\n");
}

TEST(Pack, H5pyReadsItsLabels) {
  const TempPath path(".h5");
  write_pack(*path, some_images(), kLabels);
  const std::string hash = some_images().hash().hex();
  EXPECT_EQ(seen_by_h5py(*path), "lockstep images\n2\n" + hash + "\n" + kLabelledHash +
                                     "\nlockstep images 2 11 8 7 3 " + hash + " " + kLabelledHash +
                                     "\n11 8 7 3 uint8\n" +
                                     to_hex(std::as_bytes(std::span(some_images().pixels()))) +
                                     "\n11 uint32\n" + to_hex(bytes_of(kLabels)) + "\n");
}

RC_GTEST_PROP(Pack, LabelsComeBack, ()) {
  const ImageShape shape{*rc::gen::inRange(1, 3000), 2, 1, 1};
  const Images images(shape, some_pixels(shape));
  const auto labels = *rc::gen::container<Labels>(static_cast<std::size_t>(shape.n),
                                                  rc::gen::inRange<std::uint32_t>(0, 65536));
  const TempPath path(".h5");
  write_pack(*path, images, labels);
  const LabelledImages back = read_pack(*path);
  RC_ASSERT(back.labels == labels);
  RC_ASSERT(back.images->hash() == images.hash());
  RC_ASSERT(packed_text(*back.images, back.labels) == file_text(*path));
}

TEST(Pack, WithLabelsIsTheUnlabelledDataWithoutClasses) {
  const TempPath path(".h5");
  write_file(*path, labelled_pack());
  Options options;
  move_to(options, (*path).string());
  const auto plain = open(options);
  EXPECT_EQ(plain->hash(), some_images().hash());
  EXPECT_EQ(plain->classes(), 0);
  options.classes = 31;
  const auto labelled = open(options);
  EXPECT_EQ(labelled->hash().hex(), kLabelledHash);
  EXPECT_EQ(labelled->label(Sample(10)), 30);
  options.classes = 30;
  EXPECT_EQ(error_line(Code::kData, [&] { open(options); }),
            (*path).string() +
                ": sample 10 has the label 30, and data.classes is 30 (set data.classes to 31 or "
                "more)");
}

RC_GTEST_PROP(Pack, AnyChangedByteIsRefusedWithLabelsToo, ()) {
  refuse_any_changed_byte(labelled_pack());
}

TEST(Pack, EveryRegionOfALabelledFileIsGuarded) {
  const std::string& whole = labelled_pack();
  const std::string hash = some_images().hash().hex();
  const std::string pixels(some_images().pixels().begin(), some_images().pixels().end());
  const auto changed = [&](std::size_t at) {
    std::string text = whole;
    text.at(at) = static_cast<char>(text.at(at) ^ 1);
    return refusal(text);
  };
  const std::size_t stamp = place_of("lockstep images 2 11 ", whole);
  for (std::size_t at = 0; at < 160; ++at) changed(stamp + at);
  EXPECT_NE(changed(place_of(pixels, whole) + 100).find("the images have"), std::string::npos);
  const std::size_t labels = place_of(text_of(bytes_of(kLabels)), whole);
  for (std::size_t at = 0; at < 44; ++at) {
    const std::string line = changed(labels + at);
    EXPECT_NE(line.find("the labels have"), std::string::npos) << line;
    EXPECT_NE(line.find("states " + std::string(kLabelledHash)), std::string::npos) << line;
  }
  for (const char* name : {"labelled_hash", "content_hash", "version"})
    EXPECT_NE(changed(place_of(name, whole)).find("damaged at byte"), std::string::npos) << name;
  // Labels that somebody took away, and a version that somebody set back.
  refusal(whole.substr(0, whole.size() - 1));
  std::string older = whole;
  older[stamp + 16] = '1';
  refusal(older);
}

RC_GTEST_PROP(Pack, AnyChangedByteIsRefused, ()) {
  refuse_any_changed_byte(some_pack());
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
  const auto signals = [&](const std::string& sizes) {
    return refusal("\x89HDF\r\n\x1a\n lockstep signals 1 " + sizes + " " + hash);
  };
  EXPECT_NE(signals("2 2 2 1").find("one row"), std::string::npos);
  EXPECT_NE(signals("1 1 16777217 1").find("more than 16777216 values"), std::string::npos);
  EXPECT_NE(signals("9223372036854775807 1 2 1").find("64 GiB"), std::string::npos);
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

TEST(Pack, HostileStampsWithLabelsAreRefused) {
  const std::string a(64, 'a');
  const auto stamped = [&](const std::string& rest) {
    return refusal("\x89HDF\r\n\x1a\n lockstep images 2 " + rest);
  };
  stamped("2 2 2 1 " + a);
  stamped("2 2 2 1 " + a + " " + a.substr(1));
  stamped("2 2 2 1 " + a.substr(1) + " " + a);
  stamped("2 2 2 1 " + a + " " + a.substr(1) + "G");
  // Labels alone would be 4 GiB.
  EXPECT_NE(stamped("1073741824 1 1 1 " + a + " " + a).find("truncated"), std::string::npos);
}

TEST(Pack, BytesAreFrozen) {
  EXPECT_EQ(hash::sha256(as_bytes(some_pack())).hex(),
            "9c181999c6b350c7f84f5489b3f33560ae05aaa21c0fe8a94df4528824aa22b6");
}

}  // namespace
}  // namespace lockstep::data
