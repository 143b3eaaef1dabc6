#include "lockstep/data/labels.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "lockstep/data/batch.h"
#include "lockstep/data/idx.h"
#include "lockstep/data/image_files.h"
#include "lockstep/data/mixture.h"
#include "lockstep/data/pack.h"
#include "lockstep/data/shapes.h"
#include "lockstep/numerics/stream.h"
#include "support.h"
#include "support/peak_memory.h"

namespace lockstep::data {
namespace {

constexpr ImageShape kShape{5, 4, 3, 1};
const std::string kLabels{0, 9, 3, 3, 7};
// All hashes of this test come from Python's hashlib, written from docs/training.md alone.
constexpr const char* kHash = "1e2c15eea8f66d91bc7af4889b004459c2bea44f2d2226b29af33dd8d9a60563";

std::string labels_text(const std::string& labels) {
  return idx_header({static_cast<std::uint32_t>(labels.size())}) + labels;
}

std::vector<std::int64_t> labels_of(const Dataset& data, std::int64_t n) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < n; ++i) labels.push_back(data.label(Sample(i)));
  return labels;
}

// A folder with images and, perhaps, their labels.
class LabelFiles : public ::testing::Test {
 protected:
  LabelFiles() {
    std::filesystem::create_directory(*folder_);
    put("t10k-images-idx3-ubyte", idx_text(kShape, some_pixels(kShape)));
  }
  std::string put(const std::string& name, const std::string& bytes) {
    write_file(*folder_ / name, bytes);
    return (*folder_ / name).string();
  }
  Options options(std::int64_t classes, const std::string& images = "t10k-images-idx3-ubyte") {
    Options options;
    options.classes = classes;
    move_to(options, (*folder_ / images).string());
    return options;
  }
  std::string refusal(const Options& options, Code code = Code::kData) {
    return error_line(code, [&] { open(options); });
  }
  // Of labels beside the images.
  std::string refused(const std::string& bytes) {
    const std::string path = put("t10k-labels-idx1-ubyte", bytes), line = refusal(options(10));
    EXPECT_EQ(line.rfind(path + ": ", 0), 0U) << line;
    return line.substr(std::min(line.size(), path.size() + 2));
  }

  TempPath folder_;
};

TEST_F(LabelFiles, StandBesideTheImagesAndBelongToTheContent) {
  put("t10k-labels-idx1-ubyte", labels_text(kLabels));
  const auto data = open(options(10));
  EXPECT_EQ(data->classes(), 10);
  EXPECT_EQ(labels_of(*data, 5), (std::vector<std::int64_t>{0, 9, 3, 3, 7}));
  EXPECT_EQ(data->hash().hex(), kHash);
  EXPECT_EQ(open(options(65536))->hash().hex(), kHash);  // classes are the recipe's
  // What else it is, it is without labels.
  const auto plain = open(options(0));
  EXPECT_EQ(data->size(), 5);
  EXPECT_EQ(data->sample_shape(), plain->sample_shape());
  std::vector<float> a(12), b(12);
  data->read(Sample(4), a.data());
  plain->read(Sample(4), b.data());
  EXPECT_EQ(a, b);
}

TEST_F(LabelFiles, AreNotLookedAtWithoutClasses) {
  const hash::Digest hash = open(options(0))->hash();
  EXPECT_EQ(hash, content_hash(kShape, some_pixels(kShape)));
  put("t10k-labels-idx1-ubyte", "damaged");
  const auto data = open(options(0));
  EXPECT_EQ(data->hash(), hash);
  EXPECT_EQ(data->classes(), 0);
  error_line(Code::kBug, [&] { data->label(Sample(0)); });
}

TEST_F(LabelFiles, AreFoundByTheNameOfTheImages) {
  const auto name = [](const char* images) { return name_of_labels(images); };
  EXPECT_EQ(name("/a/train-images-idx3-ubyte.gz"), "train-labels-idx1-ubyte");
  EXPECT_EQ(name("mine-images-idx4-ubyte"), "mine-labels-idx1-ubyte");
  EXPECT_EQ(name("images-idx3/images-idx3.images-idx3"), "images-idx3.labels-idx1");
  EXPECT_EQ(name("images"), "");
  EXPECT_EQ(name("/images-idx3/pictures.gz"), "");
  // The plain file first, as with images; gzip or not is each file's own affair.
  const std::string packed = put("t10k-labels-idx1-ubyte.gz", gzip(labels_text(kLabels)));
  EXPECT_EQ(find_labels(*folder_ / "t10k-images-idx3-ubyte.gz"), packed);
  EXPECT_EQ(open(options(10))->hash().hex(), kHash);
  const std::string plain = put("t10k-labels-idx1-ubyte", labels_text(kLabels));
  EXPECT_EQ(find_labels(*folder_ / "t10k-images-idx3-ubyte"), plain);
  EXPECT_EQ(find_labels(*folder_ / "train-images-idx3-ubyte"), std::nullopt);
}

TEST_F(LabelFiles, OfAFolderAreThoseOfItsTrainingImages) {
  put("train-images-idx3-ubyte.gz", gzip(idx_text(kShape, some_pixels(kShape))));
  put("train-labels-idx1-ubyte.gz", gzip(labels_text(kLabels)));
  EXPECT_EQ(open(options(10, ""))->hash().hex(), kHash);
}

TEST_F(LabelFiles, MayStandElsewhere) {
  Options elsewhere = options(10);
  auto& own = elsewhere.kind.as<ImagesOptions>();
  own.labels = put("mine", labels_text(kLabels));
  put("t10k-labels-idx1-ubyte", labels_text("\1\1\1\1\1"));  // not these
  EXPECT_EQ(open(elsewhere)->hash().hex(), kHash);
  EXPECT_EQ(files(elsewhere), (std::vector{own.path, own.labels}));
  move_to(elsewhere, "/other/images");  // the labels did not move
  EXPECT_EQ(files(elsewhere), (std::vector<std::string>{"/other/images", own.labels}));
  own.labels = "/gone/labels";
  move_to(elsewhere, "/other/images");
  EXPECT_EQ(own.labels, "");
}

TEST_F(LabelFiles, ThatAreReadAreAmongTheFiles) {
  const std::string labels = put("t10k-labels-idx1-ubyte", labels_text(kLabels));
  EXPECT_EQ(files(options(10)).size(), 2U);
  EXPECT_EQ(files(options(10)).back(), labels);
  EXPECT_EQ(files(options(0)).size(), 1U);
  EXPECT_EQ(files(options(10, "")).size(), 1U);  // a folder holds them
}

TEST_F(LabelFiles, ThatAreMissingAreSaidSoWithWhatToDo) {
  const std::string hint = " (give their file by data.labels, or set data.classes to 0)";
  const auto at = [&](const char* name) { return (*folder_ / name).string(); };
  EXPECT_EQ(refusal(options(10)), at("t10k-images-idx3-ubyte") +
                                      ": no labels: t10k-labels-idx1-ubyte[.gz] is not beside it" +
                                      hint);
  put("mine", idx_text(kShape, some_pixels(kShape)));
  EXPECT_EQ(refusal(options(10, "mine")),
            at("mine") +
                ": no labels: its name has no images-idx3 or images-idx4, which tells theirs" +
                hint);
  write_pack(*folder_ / "a.h5", Images(kShape, some_pixels(kShape)));
  EXPECT_EQ(refusal(options(10, "a.h5")), at("a.h5") + ": a packed file without labels" + hint);
  Options named = options(10);
  named.kind.as<ImagesOptions>().labels = at("nowhere");
  EXPECT_NE(refusal(named).find("cannot read data file " + at("nowhere")), std::string::npos);
}

TEST_F(LabelFiles, OfOtherImagesAreRefused) {
  const std::string hint = " (give the labels of these images, one an image)";
  EXPECT_EQ(refused(labels_text(kLabels + kLabels)), "10 labels for 5 images" + hint);
  EXPECT_EQ(refused(labels_text("\1\2\3\4")), "4 labels for 5 images" + hint);
  EXPECT_EQ(refused(labels_text("")), "0 labels for 5 images" + hint);
}

TEST_F(LabelFiles, BeyondTheClassesNameSampleLabelAndClasses) {
  put("t10k-labels-idx1-ubyte", labels_text(kLabels));
  const std::string path = (*folder_ / "t10k-labels-idx1-ubyte").string();
  EXPECT_EQ(refusal(options(9)), path +
                                     ": sample 1 has the label 9, and data.classes is 9 (set "
                                     "data.classes to 10 or more)");
  EXPECT_EQ(refusal(options(3)), path +
                                     ": sample 1 has the label 9, and data.classes is 3 (set "
                                     "data.classes to 10 or more)");
  EXPECT_EQ(labels_of(*open(options(10)), 2).at(1), 9);
}

TEST_F(LabelFiles, ThatAreNoLabelsAreNamed) {
  const std::string whole = labels_text(kLabels), packed = gzip(whole);
  const auto mentions = [&](const std::string& bytes, const std::string& what) {
    const std::string line = refused(bytes);
    EXPECT_NE(line.find(what), std::string::npos) << line;
  };
  mentions("", "the file is empty");
  mentions("\x93NUMPY and more", "a NumPy array (expected labels in IDX format");
  mentions("PNG and more", "magic");
  mentions(idx_text(kShape, some_pixels(kShape)), "images, not labels");
  mentions(idx_header({5, 1}) + kLabels, "2 dimensions");
  mentions(idx_header({5}, 12) + std::string(20, '\0'), "type 12");
  mentions(whole + "x", "1 byte too many");
  mentions(gzip(whole + "x"), "goes on");
  mentions(packed + "x", "1 byte too many");
  for (std::size_t n = 0; n < whole.size(); ++n) refused(whole.substr(0, n));
  for (std::size_t n = 0; n < packed.size(); ++n) refused(packed.substr(0, n));
  std::string damaged = packed;
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);  // of the CRC
  mentions(damaged, "gzip data is damaged");
}

TEST_F(LabelFiles, ThatPromiseMuchTakeNoMemory) {
  const std::string bomb =
      gzip(idx_header({std::uint32_t{200} << 20}) + std::string(std::size_t{200} << 20, '\0'));
  EXPECT_LT(lockstep::testing::peak_kib([&] { refused(bomb); }), 50 * 1024);
  EXPECT_LT(lockstep::testing::peak_kib([&] { refused(idx_header({0xffffffff})); }), 50 * 1024);
}

TEST_F(LabelFiles, WithoutClassesAreAMistakeOfTheRecipe) {
  Options options = this->options(0);
  options.kind.as<ImagesOptions>().labels = put("mine", labels_text(kLabels));
  EXPECT_EQ(refusal(options, Code::kUsage),
            "[data]: labels: they are not read, because classes is 0 (set data.classes, or leave "
            "data.labels out)");
}

TEST(Labels, TheirHashIsOverTheTreeOfAll) {
  const ImageShape shape{40000, 1, 1, 1};  // labels of three blocks
  Labels labels;
  for (std::uint32_t i = 0; i < 40000; ++i) labels.push_back(i * i % 251);
  const auto samples = content_hash(shape, some_pixels(shape));
  EXPECT_EQ(labelled_hash(samples, labels).hex(),
            "edd77978ce3cad3e1d8d0f5e156f137a765b45801d10f1c9d8cdaff3fc1a01b5");
  EXPECT_EQ(to_hex(bytes_of({1, 0x01020304, 65535})), "0100000004030201ffff0000");
}

RC_GTEST_PROP(Labels, HashSeesEveryLabelAndTheirOrder, ()) {
  auto labels = *rc::gen::container<Labels>(*rc::gen::inRange<std::size_t>(1, 50),
                                            rc::gen::inRange<std::uint32_t>(0, 10));
  const hash::Digest samples = hash::sha256(as_bytes("samples"));
  const auto hash = labelled_hash(samples, labels);
  RC_ASSERT(hash != samples);
  RC_ASSERT(hash != labelled_hash(samples));
  RC_ASSERT(hash != labelled_hash(hash::sha256(as_bytes("others")), labels));
  labels[*rc::gen::inRange<std::size_t>(0, labels.size())] += 1;
  RC_ASSERT(hash != labelled_hash(samples, labels));
}

// The labels of both toys come from the reference implementation in Python (tests/reference).
TEST(Labels, OfTheMixtureAreItsModes) {
  const Mixture data(MixtureOptions{}, 8);
  EXPECT_EQ(data.classes(), 8);
  EXPECT_EQ(data.hash().hex(), "f47c9d8170719a972c009dfab2b65685732c65ec1a0eb70cc30a5962d9ba2c7a");
  EXPECT_EQ(labels_of(data, 16),
            (std::vector<std::int64_t>{1, 1, 5, 3, 1, 1, 7, 2, 0, 5, 6, 6, 4, 5, 0, 1}));
  EXPECT_EQ(Mixture(MixtureOptions{}, 100).hash(), data.hash());
  error_line(Code::kBug, [&] { data.label(Sample(-1)); });
  error_line(Code::kBug, [&] { Mixture(MixtureOptions{}).label(Sample(0)); });
}

TEST(Labels, OfShapesAreTheirKinds) {
  const Shapes data(ShapesOptions{}, 3);
  EXPECT_EQ(data.classes(), 3);
  EXPECT_EQ(data.hash().hex(), "a5ed65aea981978f1fb61658156216842704046d01b3f605987bb1d786732db2");
  EXPECT_EQ(labels_of(data, 16),
            (std::vector<std::int64_t>{2, 2, 0, 1, 2, 2, 2, 0, 1, 2, 0, 1, 0, 2, 2, 0}));
  EXPECT_EQ(Shapes(ShapesOptions{}, 100).hash(), data.hash());
  error_line(Code::kBug, [&] { data.label(Sample(65536)); });
  error_line(Code::kBug, [&] { Shapes(ShapesOptions{}).label(Sample(0)); });
}

TEST(Labels, OfMoreKindsThanClassesAreAMistakeOfTheRecipe) {
  Options options;
  options.kind = "mixture";
  const auto line = [&] { return error_line(Code::kUsage, [&] { open(options); }); };
  options.classes = 7;
  EXPECT_EQ(line(), "[data]: classes: 7 are too few for 8 modes (set data.classes to 8 or more)");
  options.kind.as<MixtureOptions>().modes = 65537;
  options.classes = 65536;
  EXPECT_EQ(line(),
            "[data]: classes: 65536 are too few for 65537 modes (at most 65536 classes are "
            "possible)");
  options.kind.as<MixtureOptions>().modes = 65536;
  EXPECT_EQ(open(options)->classes(), 65536);
  options.kind = "shapes";
  options.classes = 2;
  EXPECT_EQ(line(),
            "[data]: classes: 2 are too few for 3 kinds of shapes (set data.classes to 3 or more)");
  options.classes = 3;
  EXPECT_EQ(open(options)->classes(), 3);
}

TEST(Labels, OfABatchAreThoseOfItsDraws) {
  ShapesOptions few;
  few.count = 10;
  const Shapes data(few, 3);
  const Order order(numerics::stream(3, "data/order"), 10);
  const Batch batch = assemble(data, order, Draw(4), 12);
  ASSERT_EQ(batch.labels.size(), 12U);
  for (std::int64_t i = 0; i < 12; ++i)
    EXPECT_EQ(batch.labels[static_cast<std::size_t>(i)], data.label(order.sample_at(Draw(4 + i))));
  const Batch without = assemble(Shapes(few), order, Draw(4), 12);
  EXPECT_TRUE(without.labels.empty());
  EXPECT_EQ(without.values, batch.values);
}

}  // namespace
}  // namespace lockstep::data
