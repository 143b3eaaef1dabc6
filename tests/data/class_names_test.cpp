// Names of classes in packs and in shards.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lockstep/core/file_system.h"
#include "lockstep/data/image_files.h"
#include "lockstep/data/shards.h"
#include "lockstep/hdf5/canonical.h"
#include "pack_testing.h"
#include "support.h"

namespace lockstep::data {
namespace {

// Of 11 images, the labels 0 and 1.
const Labels kTwo{0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 0};

const std::string& named_pack() {
  static const std::string text = packed_text(some_images(), kTwo, {"cat", "w\xc3\xb6lf"});
  return text;
}

// Any bytes but control characters: folders have such names, in UTF-8 or not.
rc::Gen<ClassNames> any_names(std::size_t count) {
  return rc::gen::unique<ClassNames>(
      count, rc::gen::resize(20, rc::gen::nonEmpty(rc::gen::container<std::string>(
                                     rc::gen::suchThat(rc::gen::arbitrary<char>(), [](char c) {
                                       return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
                                     })))));
}

RC_GTEST_PROP(Pack, NamesOfClassesComeBack, ()) {
  const ClassNames names = *any_names(*rc::gen::inRange<std::size_t>(1, 40));
  Labels labels;
  for (std::int64_t i = 0; i < kShape.n; ++i)
    labels.push_back(*rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(names.size())));
  const TempPath path(".h5");
  write_pack(*path, some_images(), labels, names);
  const LabelledImages back = read_pack(*path);
  RC_ASSERT(back.classes == names);
  RC_ASSERT(back.labels == labels);
  RC_ASSERT(packed_text(*back.images, back.labels, back.classes) == file_text(*path));
  const PixelSink nowhere = [](const ImageShape&, std::span<const std::uint8_t>) {};
  RC_ASSERT(stream_pack(*path, nowhere).classes == names);
  // Names are no part of what labelled data are.
  RC_ASSERT(stated_hashes(*path)->labelled == labelled_hash(some_images().hash(), labels));
}

TEST(Pack, NamesOfClassesAreThoseOfItsOwnLabels) {
  const TempPath path(".h5"), apart;
  write_file(*path, named_pack());
  Options options;
  move_to(options, (*path).string());
  EXPECT_EQ(open(options)->class_names(), ClassNames());
  options.classes = 2;
  EXPECT_EQ(open(options)->class_names(), (ClassNames{"cat", "w\xc3\xb6lf"}));
  write_file(*apart, idx_header({11}) + std::string(11, '\1'));
  options.kind.as<ImagesOptions>().labels = (*apart).string();
  EXPECT_EQ(open(options)->class_names(), ClassNames());
}

TEST(Pack, H5pyReadsItsNamesOfClasses) {
  const TempPath path(".h5");
  write_file(*path, named_pack());
  const std::string seen = seen_by_h5py(*path);
  EXPECT_NE(seen.find("\n11 uint32\n"), std::string::npos) << seen;
  EXPECT_NE(seen.find("\n10 uint8\n" + to_hex(as_bytes("cat\nw\xc3\xb6lf\n")) + "\n"),
            std::string::npos)
      << seen;
}

RC_GTEST_PROP(Pack, AnyChangedByteIsRefusedWithNamesToo, ()) {
  refuse_any_changed_byte(named_pack());
}

TEST(Pack, EveryByteOfNamesOfClassesIsGuarded) {
  const std::string& whole = named_pack();
  const std::size_t names = place_of("cat\nw\xc3\xb6lf\n", whole);
  for (std::size_t at = 0; at < 10; ++at) {
    std::string text = whole;
    text.at(names + at) = static_cast<char>(text.at(names + at) ^ 1);
    EXPECT_NE(refusal(text).find("the names of classes have the content hash"), std::string::npos);
  }
}

// What another writer might make: all is right but for the names.
std::string with_names(const std::string& names) {
  const TempPath path(".h5");
  const std::string content = some_images().hash().hex(),
                    labelled = labelled_hash(some_images().hash(), kTwo).hex();
  const std::vector<hdf5::DatasetSpec> datasets{{"/images", hdf5::Type::kU8, {11, 8, 7, 3}},
                                                {"/labels", hdf5::Type::kU32, {11}},
                                                {"/classes", hdf5::Type::kU8, {std::ssize(names)}}};
  const std::vector<hdf5::Attribute> attributes{
      {"format", "lockstep images"},
      {"version", std::int64_t{3}},
      {"content_hash", content},
      {"labelled_hash", labelled},
      {"stamp", "lockstep images 3 11 8 7 3 " + content + " " + labelled + " " +
                    std::to_string(names.size()) + " " + hash::sha256(as_bytes(names)).hex()}};
  const Bytes labels = bytes_of(kTwo);
  const std::vector<ByteView> contents{std::as_bytes(std::span(some_images().pixels())), labels,
                                       as_bytes(names)};
  hdf5::publish(real_file_system(), *path, hdf5::make_skeleton(datasets, attributes), contents);
  return file_text(*path);
}

TEST(Pack, NamesOfClassesThatSayNothingAreRefused) {
  EXPECT_EQ(with_names("cat\nw\xc3\xb6lf\n"), named_pack());
  const auto refused = [](const std::string& names, const std::string& why) {
    const std::string line = refusal(with_names(names));
    EXPECT_NE(line.find(why), std::string::npos) << line;
    EXPECT_NE(line.find("make the file again with 'lockstep pack'"), std::string::npos) << line;
  };
  refused("cat-wolf\n", "1 names of classes, and more labels");
  refused("wolf\nwolf\n", "the class 1 is that of another class");
  refused("cat\nwolf", "cut off");
  refused("\nwolf\n", "the class 0 is empty");
  refused("cat\nwo\x1blf\n", "the class 1 has a control");
  refused("cat\nwo\x7flf\n", "the class 1 has a control");
  refused(std::string(70000, '\n'), "65537 names of classes");
}

// The stamp is searched for, and names lie before large images.
TEST(Pack, ANameOfAClassIsNoStamp) {
  const ClassNames names{"lockstep images 1 x", "lockstep fields 2 1 1 1"};
  const TempPath path(".h5");
  write_pack(*path, some_images(), kTwo, names);
  EXPECT_EQ(read_pack(*path).classes, names);
  const Images large({60000, 2, 2, 1}, some_pixels({60000, 2, 2, 1}));
  write_pack(*path, large, Labels(60000, 1), names);
  EXPECT_EQ(read_pack(*path).classes, names);
}

TEST(Pack, NamesOfClassesAreShort) {
  const std::string longest(kLongestClassName, 'a');
  EXPECT_EQ(parse_class_names(longest + "\n"), ClassNames{longest});
  EXPECT_NE(error_line(Code::kData, [&] { parse_class_names("b\n" + longest + "a\n"); })
                .find("the class 1 has more than 255 bytes"),
            std::string::npos);
}

TEST(Pack, HostileStampsWithNamesAreRefused) {
  const std::string a(64, 'a');
  const auto stamped = [&](const std::string& rest) {
    return refusal("\x89HDF\r\n\x1a\n lockstep images 3 2 2 2 1 " + a + " " + a + rest);
  };
  stamped("");
  stamped(" 10");
  stamped(" 10 " + a.substr(1));
  for (const char* size : {"0", "-1", "x", "16777217", "99999999999999999999"})
    EXPECT_NE(stamped(" " + std::string(size) + " " + a).find("the stamp has no size"),
              std::string::npos)
        << size;
  EXPECT_NE(stamped(" 16777216 " + a).find("truncated"), std::string::npos);
}

TEST(Shards, HaveTheNamesOfTheirClasses) {
  const TempPath folder, pack(".h5");
  const Labels labels{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1};
  const ClassNames names{"a cat", "name b", "w\xc3\xb6lf", "of none"};
  const ShardsIndex index = write_shards(*folder, some_images(), labels, hash::kBlockBytes, names);
  write_pack(*pack, some_images(), labels, names);
  EXPECT_EQ(*index.labelled, *stated_hashes(*pack)->labelled);  // names are no part of it
  EXPECT_EQ(open_sharded(*folder, 0)->class_names(), ClassNames());
  EXPECT_EQ(open_sharded(*folder, 3)->class_names(), names);
  const auto nowhere = [](const ImageShape&, std::span<const std::uint8_t>) {};
  EXPECT_EQ(stream_shards(*folder, nowhere).classes, names);
  const std::string text = file_text(*folder / kShardsIndex);
  EXPECT_EQ(text.find("lockstep shards 2\n"), 0U);
  EXPECT_EQ(format_shards_index(parse_shards_index(text)), text);
  const auto refused = [&](const auto& change) {
    ShardsIndex other = parse_shards_index(text);
    change(other.names);
    const std::string changed = format_shards_index(other);  // its check line is right
    return error_line(Code::kData, [&] { parse_shards_index(changed); });
  };
  EXPECT_NE(refused([](ClassNames& all) { all.resize(2); }).find("2 names of 3 classes"),
            std::string::npos);
  EXPECT_NE(refused([](ClassNames& all) { all[2] = all[0]; }).find("that of another class"),
            std::string::npos);
  EXPECT_NE(refused([](ClassNames& all) { all[1] = ""; }).find("the class 1 is empty"),
            std::string::npos);
  refused([](ClassNames& all) { all[1] = "a\nb"; });
  std::string unnamed = text;
  for (const std::string& name : names) {
    const std::string line = "name " + name + "\n";
    unnamed.erase(unnamed.find(line), line.size());
  }
  EXPECT_NE(error_line(Code::kData, [&] { parse_shards_index(unnamed); }).find("0 names"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::data
