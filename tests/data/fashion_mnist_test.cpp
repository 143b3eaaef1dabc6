// The real thing: Debian's dataset-fashion-mnist, which tools/bootstrap installs.
#include <gtest/gtest.h>

#include "lockstep/data/batch.h"
#include "lockstep/data/dataset.h"
#include "lockstep/data/pack.h"
#include "lockstep/numerics/stream.h"
#include "support.h"

namespace lockstep::data {
namespace {

// This hash and the sum below also come from a few lines of Python (gzip, hashlib).
constexpr const char* kFashion = "9ff09f4d63c3bed6510eac8329f8ce5beb55d4bb0080dc04c8c7995f10100d5d";

TEST(FashionMnist, DebiansFilesHoldTheImagesWeKnow) {
  const auto data = open(Options{});
  EXPECT_EQ(data->size(), 60000);
  EXPECT_EQ(data->sample_shape(), (std::vector<std::int64_t>{28, 28, 1}));
  EXPECT_EQ(data->hash().hex(), kFashion);
  const auto& images = dynamic_cast<const Images&>(*data);
  std::int64_t sum = 0;
  for (const auto p : images.pixels()) sum += p;
  EXPECT_EQ(sum, 3431114169);
}

// Hash and labels by Python's gzip and hashlib.
TEST(FashionMnist, DebiansFilesHoldTheLabelsWeKnow) {
  Options options;
  options.classes = 10;
  const auto data = open(options);
  EXPECT_EQ(data->hash().hex(), "56d9bbbc112c39b625d877540e306feba2c0ca6a9c0dbc0a676730b3af3ef8fc");
  std::vector<std::int64_t> first, share(10);
  for (std::int64_t i = 0; i < 10; ++i) first.push_back(data->label(Sample(i)));
  EXPECT_EQ(first, (std::vector<std::int64_t>{9, 0, 0, 3, 0, 2, 7, 2, 5, 5}));
  for (std::int64_t i = 0; i < 60000; ++i)
    ++share[static_cast<std::size_t>(data->label(Sample(i)))];
  EXPECT_EQ(share, std::vector<std::int64_t>(10, 6000));
}

TEST(FashionMnist, LabelsAreNotImages) {
  Options options;
  move_to(options, files(options).at(0) + "/train-labels-idx1-ubyte.gz");
  EXPECT_NE(error_line(Code::kData, [&] { open(options); }).find("labels"), std::string::npos);
}

TEST(FashionMnist, PackedItHasTheSameHashAndBatches) {
  const auto data = open(Options{});
  const TempPath packed(".h5");
  write_pack(*packed, dynamic_cast<const Images&>(*data));
  Options options;
  move_to(options, (*packed).string());
  const auto again = open(options);
  EXPECT_EQ(again->hash().hex(), kFashion);
  const Order order(numerics::stream(0, "data/order"), data->size());
  EXPECT_EQ(assemble(*again, order, Draw(59990), 20).values,
            assemble(*data, order, Draw(59990), 20).values);
}

}  // namespace
}  // namespace lockstep::data
