#include "lockstep/data/shards.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <thread>

#include "lockstep/core/file_system.h"
#include "lockstep/data/idx.h"
#include "lockstep/data/image_files.h"
#include "lockstep/data/pack.h"
#include "lockstep/data/sources.h"
#include "support.h"
#include "support/peak_memory.h"

namespace lockstep::data {
namespace {

namespace stdfs = std::filesystem;

constexpr std::uint64_t kSlice = hash::kBlockBytes;
constexpr ImageShape kShape{300, 16, 17, 3};  // four slices, the last one shorter

const Images& some_images() {
  static const Images images(kShape, some_pixels(kShape));
  return images;
}

Labels some_labels(std::int64_t n, std::uint32_t classes = 7) {
  Labels labels;
  for (std::int64_t i = 0; i < n; ++i) labels.push_back(static_cast<std::uint32_t>(i) % classes);
  return labels;
}

// Files of the folder and what is in them.
std::vector<std::pair<std::string, std::string>> contents(const stdfs::path& folder) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const std::string& name : real_file_system().list(folder))
    found.emplace_back(name, file_text(folder / name));
  return found;
}

// As bits: among any bytes are NaNs.
std::vector<std::uint32_t> values_of(const Dataset& dataset, std::int64_t sample) {
  std::vector<float> values(static_cast<std::size_t>(dataset.sample_values()));
  dataset.read(Sample(sample), values.data());
  std::vector<std::uint32_t> bits(values.size());
  std::ranges::transform(values, bits.begin(),
                         [](float value) { return std::bit_cast<std::uint32_t>(value); });
  return bits;
}

void change(const stdfs::path& file, std::uint64_t at) {
  std::string text = file_text(file);
  text.at(at) = static_cast<char>(text.at(at) ^ 1);
  std::fstream(file, std::ios::binary | std::ios::in | std::ios::out)
      .seekp(static_cast<std::streamoff>(at))
      .put(text[at]);
}

std::string line_of(const stdfs::path& folder, std::int64_t classes = 0) {
  return error_line(Code::kData, [&] { open_sharded(folder, classes); });
}

ImageShape any_shape() {
  const std::int64_t n = *rc::gen::inRange(1, 400), h = *rc::gen::inRange(1, 40),
                     w = *rc::gen::inRange(1, 40);
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      return {n, h, w, *rc::gen::element(1, 3)};
    case 1:
      return {n, h, w, 2, SampleKind::kFields};
    default:
      return {n, 1, h * w, 1, SampleKind::kSignals};
  }
}

RC_GTEST_PROP(Shards, GiveTheSamplesLabelsAndHashesOfOneFile, ()) {
  const ImageShape shape = any_shape();
  const Images images(shape, some_pixels(shape));
  const Labels labels = some_labels(shape.n, *rc::gen::inRange(1u, 20u));
  const auto shard_bytes = *rc::gen::inRange<std::uint64_t>(kSlice, 6 * kSlice);
  const auto cache = *rc::gen::element<std::uint64_t>(0, 2 * kSlice, kShardCacheBytes);
  const TempPath folder;
  const ShardsIndex index = write_shards(*folder, images, labels, shard_bytes);
  RC_ASSERT(index.hash == images.hash());
  RC_ASSERT(index.pixels.shard_bytes == shard_bytes / kSlice * kSlice);
  RC_ASSERT(*index.labelled == labelled_hash(images.hash(), labels));
  RC_ASSERT(index.classes == counts_of(labels));
  const auto plain = open_sharded(*folder, 0, cache), labelled = open_sharded(*folder, 20, cache);
  RC_ASSERT(plain->hash() == images.hash());
  RC_ASSERT(labelled->hash() == *index.labelled);
  RC_ASSERT(plain->size() == shape.n);
  RC_ASSERT(plain->sample_shape() == images.sample_shape());
  for (std::int64_t k = 0; k < 40; ++k) {
    const std::int64_t i = *rc::gen::inRange<std::int64_t>(0, shape.n);
    RC_ASSERT(values_of(*plain, i) == values_of(images, i));
    RC_ASSERT(labelled->label(Sample(i)) == std::int64_t{labels[static_cast<std::size_t>(i)]});
  }
  RC_ASSERT(verify_sharded(*folder).findings.empty());
}

// The groups of the tree: more than kGroupSlices slices, and not a whole number of groups.
TEST(Shards, OfSeveralGroupsHaveTheRootOfOneTree) {
  const ImageShape shape{600, 101, 100, 3};  // 277.4 slices
  const Images images(shape, some_pixels(shape));
  const TempPath folder;
  const ShardsIndex index = write_shards(*folder, images, {}, 100 * kSlice);
  EXPECT_EQ(index.pixels.nodes.size(), 2U);
  EXPECT_EQ(index.hash, images.hash());
  const auto dataset = open_sharded(*folder, 0);
  for (const std::int64_t i : {0, 141, 142, 553, 554, 555, 599})
    EXPECT_EQ(values_of(*dataset, i), values_of(images, i)) << i;
}

TEST(Shards, AreTheSameFilesForTheSameSource) {
  const TempPath once, again, streamed, pack(".h5");
  const Labels labels = some_labels(kShape.n);
  write_shards(*once, some_images(), labels, 2 * kSlice);
  write_shards(*again, some_images(), labels, 2 * kSlice + 17);  // rounded down
  write_pack(*pack, some_images(), labels);
  shard_source(*pack, {}, *streamed, 2 * kSlice);
  EXPECT_EQ(contents(*once), contents(*again));
  EXPECT_EQ(contents(*once), contents(*streamed));
  std::string all;
  for (const auto& [name, bytes] : contents(*once)) all += name + " " + bytes;
  EXPECT_EQ(hash::sha256(as_bytes(all)).hex(),
            "389e8ee292e967c9ff137983432f6d3f33a9c4e1a89e54a8dfbc06f9020859fe");
}

TEST(Shards, OfEverySourceAreThoseOfItsPack) {
  const TempPath idx, pack(".h5"), shards, from_idx, from_pack, from_shards;
  write_file(*idx, idx_text(kShape, some_images().pixels()));
  write_pack(*pack, some_images());
  write_shards(*shards, some_images(), {}, kSlice);
  shard_source(*idx, {}, *from_idx, 3 * kSlice);
  shard_source(*pack, {}, *from_pack, 3 * kSlice);
  shard_source(*shards, {}, *from_shards, 3 * kSlice);
  EXPECT_EQ(contents(*from_idx), contents(*from_pack));
  EXPECT_EQ(contents(*from_idx), contents(*from_shards));
  // And back, in another form, too.
  SourceOptions small;
  small.form.channels = 1;
  small.form.size = PictureSize{5, 4};
  EXPECT_EQ(read_source(*shards, {}).all.images->hash(), some_images().hash());
  EXPECT_EQ(read_source(*shards, small).all.images->pixels(),
            read_source(*pack, small).all.images->pixels());
}

TEST(Shards, AreReadByThreadsAtTheSameTime) {
  const TempPath folder;
  write_shards(*folder, some_images(), some_labels(kShape.n), kSlice);
  const auto dataset = open_sharded(*folder, 7, 2 * kSlice);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::int64_t k = 0; k < 400; ++k) {
        const std::int64_t i = (k * 131 + t * 17) % kShape.n;
        EXPECT_EQ(values_of(*dataset, i), values_of(some_images(), i));
        EXPECT_EQ(dataset->label(Sample(i)), i % 7);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Shards, AreOpenedByOptionsWithLabelsOfTheirOwnOrOfAFile) {
  const TempPath folder, file;
  write_shards(*folder, some_images(), some_labels(kShape.n), kSlice);
  std::string text = idx_header({300});
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i % 5);
  write_file(*file, text);
  Options options;
  move_to(options, (*folder).string());
  EXPECT_EQ(open(options)->hash(), some_images().hash());
  options.classes = 7;
  EXPECT_EQ(open(options)->label(Sample(13)), 6);
  options.kind.as<ImagesOptions>().labels = (*file).string();
  EXPECT_EQ(open(options)->label(Sample(13)), 3);
  EXPECT_EQ(open(options)->hash(), labelled_hash(some_images().hash(), some_labels(300, 5)));
  options.kind.as<ImagesOptions>().labels = "";
  options.classes = 6;
  EXPECT_EQ(error_line(Code::kData, [&] { open(options); }),
            (*folder).string() +
                ": its labels go up to 6, and data.classes is 6 (set data.classes to 7 or more)");
}

TEST(Shards, WithoutLabelsSayWhatToDo) {
  const TempPath folder;
  write_shards(*folder, some_images(), {}, kSlice);
  EXPECT_EQ(line_of(*folder, 3), (*folder).string() +
                                     ": shards without labels (give their file by data.labels, or "
                                     "set data.classes to 0)");
}

TEST(Shards, ThatAreMissingOrOfAnotherLengthAreNamedAtTheStart) {
  const TempPath folder;
  write_shards(*folder, some_images(), some_labels(kShape.n), kSlice);
  const stdfs::path shard = *folder / "pixels-00001.bin";
  const std::string bytes = file_text(shard);
  stdfs::remove(shard);
  EXPECT_EQ(line_of(*folder),
            shard.string() +
                " is missing: it holds samples 80 to 160 (put it back from a copy, or make the "
                "folder again with 'lockstep pack')");
  for (const std::string& other : {bytes.substr(1), bytes + "x", std::string()}) {
    write_file(shard, other);
    EXPECT_NE(line_of(*folder).find("pixels-00001.bin has " + std::to_string(other.size()) +
                                    " bytes instead of 65536"),
              std::string::npos);
  }
  write_file(shard, bytes);
  for (const char* name : {"pixels.tree", "labels.tree", "labels-00000.bin"}) {
    const std::string whole = file_text(*folder / name);
    write_file(*folder / name, whole.substr(0, whole.size() - 1));
    EXPECT_NE(line_of(*folder).find(name), std::string::npos);
    EXPECT_EQ(verify_sharded(*folder).findings.size(), 1U) << name;
    write_file(*folder / name, whole);
  }
  EXPECT_EQ(verify_sharded(*folder).findings, std::vector<std::string>());
}

RC_GTEST_PROP(Shards, AChangedByteIsNamedWithItsSamplesAndNeverGiven, ()) {
  const TempPath folder;
  write_shards(*folder, some_images(), {}, 2 * kSlice);
  const auto dataset = open_sharded(*folder, 0, *rc::gen::element<std::uint64_t>(0, 1 << 20));
  const auto total = static_cast<std::uint64_t>(kShape.n * kShape.image_bytes());
  const auto at = *rc::gen::inRange<std::uint64_t>(0, total);
  const std::string name = "pixels-0000" + std::to_string(at / (2 * kSlice)) + ".bin";
  change(*folder / name, at % (2 * kSlice));  // after the data were opened
  const auto sample = static_cast<std::int64_t>(at) / kShape.image_bytes();
  const std::uint64_t begin = at % (2 * kSlice) / kSlice * kSlice,
                      end = std::min(begin + kSlice, total - at / (2 * kSlice) * 2 * kSlice);
  const std::string where = (*folder / name).string() + ", bytes " + std::to_string(begin) +
                            " to " + std::to_string(end) + " (samples ";
  const std::string line = error_line(Code::kData, [&] { values_of(*dataset, sample); });
  RC_ASSERT(line.starts_with(where));
  RC_ASSERT(line.find("changed since the data were packed") != std::string::npos);
  const auto findings = verify_sharded(*folder).findings;
  RC_ASSERT(findings.size() == 1U);
  RC_ASSERT(findings[0].starts_with(where));
  // Samples of other slices are still right.
  const std::int64_t other = at < total / 2 ? kShape.n - 1 : 0;
  RC_ASSERT(values_of(*dataset, other) == values_of(some_images(), other));
}

TEST(Shards, CutOffWhileTheyAreReadAreNamed) {
  const TempPath folder;
  write_shards(*folder, some_images(), {}, kSlice);
  const auto dataset = open_sharded(*folder, 0);
  values_of(*dataset, 0);
  stdfs::resize_file(*folder / "pixels-00002.bin", 100);
  stdfs::remove(*folder / "pixels-00001.bin");
  values_of(*dataset, 0);  // in the cache: it was checked
  EXPECT_EQ(error_line(Code::kData, [&] { values_of(*dataset, 180); }),
            (*folder / "pixels-00002.bin").string() +
                ", bytes 100 to 65536 (samples 160 to 240): the file is cut off (put it back from "
                "a copy, or make the folder again with 'lockstep pack')");
  EXPECT_NE(error_line(Code::kData, [&] { values_of(*dataset, 100); }).find("pixels-00001.bin"),
            std::string::npos);
}

RC_GTEST_PROP(Shards, AChangedByteOfTheIndexOrATreeIsFound, ()) {
  const TempPath folder;
  write_shards(*folder, some_images(), some_labels(kShape.n), kSlice);
  const std::string name = *rc::gen::element<std::string>("shards.index", "pixels.tree");
  change(*folder / name, *rc::gen::inRange<std::uint64_t>(0, file_text(*folder / name).size()));
  const std::string line =
      error_line(Code::kData, [&] { values_of(*open_sharded(*folder, 7), 5); });
  RC_ASSERT(line.find((*folder / name).string()) != std::string::npos);
  if (name == "pixels.tree") {
    const auto findings = verify_sharded(*folder).findings;
    RC_ASSERT(findings.size() == 1U);
    RC_ASSERT(findings[0].find("pixels.tree, bytes 0 to 128: changed") != std::string::npos);
  }
}

TEST(Shards, CountsThatAreNotThoseOfTheLabelsAreFoundByVerify) {
  const TempPath folder;
  ShardsIndex index = write_shards(*folder, some_images(), some_labels(kShape.n), kSlice);
  ++index.classes[0], --index.classes[1];
  write_file(*folder / kShardsIndex, format_shards_index(index));
  EXPECT_EQ(verify_sharded(*folder).findings,
            std::vector{(*folder / kShardsIndex).string() +
                        ": its classes have other counts than its labels"});
  // A label that the counts deny is refused when it is read.
  index.classes = {300};
  write_file(*folder / kShardsIndex, format_shards_index(index));
  const auto dataset = open_sharded(*folder, 3);
  EXPECT_EQ(dataset->label(Sample(2)), 2);
  EXPECT_NE(error_line(Code::kData, [&] { dataset->label(Sample(3)); })
                .find("sample 3 has the label 3, and data.classes is 3"),
            std::string::npos);
}

TEST(Shards, TheIndexIsReadInOneForm) {
  const TempPath folder;
  write_shards(*folder, some_images(), some_labels(kShape.n), kSlice);
  const std::string text = file_text(*folder / kShardsIndex);
  EXPECT_EQ(format_shards_index(parse_shards_index(text)), text);
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    return error_line(Code::kData, [&] { parse_shards_index(other); });
  };
  refused("shards 1", "shards 2");
  refused("300 16", "0300 16");
  refused("300 16", "0 16");
  EXPECT_NE(refused("300 16 17 3", "99999999999 65535 65535 3").find("GiB"), std::string::npos);
  refused("65536\n", "65537\n");
  EXPECT_NE(refused("244800 65536\n", "244800 0\n").find("shards of 0 bytes"), std::string::npos);
  refused("244800 65536\n", "244800 18446744073709486080\n");  // as if there were no shard
  refused("244800", "244801");
  refused("classes 43", "classes 18446744073709551615");
  refused("classes 43", "classes 42");
  refused("check ", "check");
  // Another node or hash, with a check line that is right.
  const auto does_not_follow = [&](const auto& change) {
    ShardsIndex index = parse_shards_index(text);
    change(index);
    EXPECT_NE(error_line(Code::kData, [&] { parse_shards_index(format_shards_index(index)); })
                  .find("its hashes do not follow from its nodes"),
              std::string::npos);
  };
  does_not_follow([](ShardsIndex& index) { std::swap(index.hash, index.pixels.nodes[0]); });
  does_not_follow([](ShardsIndex& index) { index.pixels.nodes[0] = index.hash; });
  does_not_follow([](ShardsIndex& index) { index.labels->nodes[0] = index.hash; });
  for (std::size_t i = 0; i < text.size(); i += 7)
    error_line(Code::kData, [&] { parse_shards_index(text.substr(0, i)); });
  error_line(Code::kData, [&] { parse_shards_index(text + "\n"); });
}

TEST(Shards, AFolderWithAnythingElseIsLeftAlone) {
  const TempPath folder;
  stdfs::create_directory(*folder);
  write_file(*folder / "pixels-00077.bin", "left by a killed writer");
  write_file(*folder / "pixels.tree", "left by a killed writer");
  write_shards(*folder, some_images(), {}, kSlice);
  EXPECT_FALSE(stdfs::exists(*folder / "pixels-00077.bin"));
  EXPECT_EQ(error_line(Code::kUsage, [&] { write_shards(*folder, some_images(), {}, kSlice); }),
            (*folder).string() +
                " is not empty: it has shards.index (give another folder, or remove this one)");
  EXPECT_TRUE(verify_sharded(*folder).findings.empty());
  error_line(Code::kUsage, [&] { write_shards(*folder / "a", some_images(), {}, kSlice - 1); });
  error_line(Code::kEnvironment,
             [&] { write_shards("/nowhere/at/all", some_images(), {}, kSlice); });
}

TEST(Shards, ThatCannotBeFinishedLeaveNothing) {
  const TempPath pack(".h5"), folder;
  write_pack(*pack, some_images(), some_labels(kShape.n));
  change(*pack, file_text(*pack).size() / 2);
  error_line(Code::kData, [&] { shard_source(*pack, {}, *folder, kSlice); });
  EXPECT_FALSE(stdfs::exists(*folder));
  Labels labels = some_labels(kShape.n);
  labels[2] = 65536;
  EXPECT_NE(error_line(Code::kData, [&] { write_shards(*folder, some_images(), labels, kSlice); })
                .find("sample 2 has the label 65536"),
            std::string::npos);
  EXPECT_FALSE(stdfs::exists(*folder));
}

// Of 96 MiB, opened with a cache of 2 MiB; packed from an IDX file, and from the pack of it.
TEST(Shards, NeedLittleMemoryToBeMadeAndRead) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "NOT PROVED: how much memory shards need, under a sanitizer";
#endif
  const ImageShape shape{32768, 32, 32, 3};
  const TempPath idx, one, two;
  write_file(*idx, idx_text(shape, some_pixels(shape)));
  constexpr long kLimit = 40 << 10;  // KiB: two pieces of 16 MiB, and little else
  EXPECT_LT(lockstep::testing::peak_kib([&] { shard_source(*idx, {}, *one, 16 << 20); }), kLimit);
  EXPECT_LT(lockstep::testing::peak_kib([&] { shard_source(*one, {}, *two, 32 << 20); }), kLimit);
  EXPECT_LT(lockstep::testing::peak_kib([&] {
              const auto dataset = open_sharded(*two, 0, 2 << 20);
              std::vector<float> values(3072);
              for (std::int64_t i = 0; i < 3000; ++i)
                dataset->read(Sample(i * 7919 % shape.n), values.data());
              EXPECT_TRUE(verify_sharded(*two).findings.empty());
            }),
            8 << 10);
}

}  // namespace
}  // namespace lockstep::data
