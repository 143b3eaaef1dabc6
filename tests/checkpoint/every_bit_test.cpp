// A small checkpoint with every damage of a kind: each is refused in one line that names the file
// and the place.
#include <gtest/gtest.h>

#include "checkpoint/some_checkpoint.h"
#include "lockstep/checkpoint/store.h"
#include "lockstep/core/error.h"
#include "support/simulated_disk.h"

namespace lockstep::checkpoint {
namespace {

using namespace lockstep::checkpoint::testing;
using lockstep::testing::SimulatedDisk;

const Step kStep{500};
const std::string kFile = "step-00000500.h5", kSidecar = kFile + ".sha256";

struct Small {
  Bytes file, sidecar;
  std::vector<hdf5::DatasetSpec> specs;
  std::vector<hdf5::Extent> extents;
};
// Of two tensors of this size.
Small small_of(const std::vector<std::int64_t>& sizes) {
  SimulatedDisk disk;
  const state::State state = state_of({{"model/param/w", sizes}, {"model/m/w", sizes}}, kStep);
  publish(disk, "", some_meta(state), state);
  Small all{read_file(disk, kFile), read_file(disk, kSidecar), {}, {}};
  const hdf5::Reader reader(all.file, "small");
  all.specs = reader.datasets();
  all.extents = reader.extents();
  return all;
}
const Small& small() {
  static const Small instance = small_of({10, 7});
  return instance;
}

// What load says of these bytes; empty if it accepts them.
std::string said(const Bytes& file, const Bytes& sidecar) {
  SimulatedDisk disk;
  disk.create_new(kFile)->append(file);
  disk.create_new(kSidecar)->append(sidecar);
  try {
    load(disk, kFile);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCorrupt);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return {};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The data set that has this byte; empty for HDF5's own.
std::string dataset_at(std::size_t at) {
  for (std::size_t i = 0; i < small().extents.size(); ++i) {
    const hdf5::Extent& extent = small().extents[i];
    if (extent.offset <= at && at < extent.offset + extent.bytes) return small().specs[i].path;
  }
  return {};
}

TEST(EveryBit, OfTheFileFlipped) {
  ASSERT_EQ(said(small().file, small().sidecar), "");
  for (std::size_t at = 0; at < small().file.size(); ++at) {
    const std::string dataset = dataset_at(at);
    for (int bit = 0; bit < 8; ++bit) {
      Bytes file = small().file;
      file[at] ^= std::byte(1 << bit);
      const std::string line = said(file, small().sidecar);
      ASSERT_TRUE(has(line, kFile + ", bytes ") && has(line, dataset)) << at << ": " << line;
    }
  }
}

TEST(EveryBit, OfTheSidecarFlipped) {
  for (std::size_t at = 0; at < small().sidecar.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes sidecar = small().sidecar;
      sidecar[at] ^= std::byte(1 << bit);
      ASSERT_TRUE(has(said(small().file, sidecar), kSidecar + ", bytes ")) << at;
    }
  }
}

TEST(EveryLength, TruncatedOrExtended) {
  for (std::size_t n = 0; n < small().file.size(); ++n) {
    const Bytes cut(small().file.begin(), small().file.begin() + std::ptrdiff_t(n));
    const std::string line = said(cut, small().sidecar);
    ASSERT_TRUE(has(line, kFile + ", bytes " + std::to_string(n)) && has(line, "cut off")) << line;
  }
  for (std::size_t n = 0; n < small().sidecar.size(); ++n) {
    const Bytes cut(small().sidecar.begin(), small().sidecar.begin() + std::ptrdiff_t(n));
    ASSERT_TRUE(has(said(small().file, cut), kSidecar)) << n;
  }
  for (const std::size_t more : {1u, 100u, 4096u, 65536u, 70000u}) {
    Bytes longer = small().file;
    longer.resize(longer.size() + more);
    ASSERT_TRUE(has(said(longer, small().sidecar), "appended")) << more;
    longer = small().sidecar;
    longer.resize(longer.size() + more, std::byte('\n'));
    ASSERT_TRUE(has(said(small().file, longer), kSidecar)) << more;
  }
}

// What a disk does that writes to the wrong place.
TEST(EveryBlock, OfFourKibSwappedWithAnyOtherOrLostOrRepeated) {
  constexpr std::size_t kBlock = 4096;
  const Small whole = small_of({40, 30});  // more than a block each
  const std::size_t blocks = whole.file.size() / kBlock;
  ASSERT_GT(blocks, 3u);
  const auto block = [](Bytes& file, std::size_t i) {
    return file.begin() + std::ptrdiff_t(i * kBlock);
  };
  for (std::size_t i = 0; i < blocks; ++i) {
    for (std::size_t j = 0; j < blocks; ++j) {
      Bytes swapped = whole.file, repeated = whole.file, lost = whole.file;
      std::swap_ranges(block(swapped, i), block(swapped, i + 1), block(swapped, j));
      if (i != j) std::copy(block(repeated, i), block(repeated, i + 1), block(repeated, j));
      std::fill(block(lost, i), block(lost, i + 1), std::byte(0));
      for (const Bytes& damaged : {swapped, repeated, lost}) {
        if (damaged == whole.file) continue;
        ASSERT_TRUE(has(said(damaged, whole.sidecar), kFile + ", bytes 0 to ")) << i << " " << j;
      }
    }
  }
}

// Every byte is written by us: no place for what nobody vouches for.
TEST(EveryBit, IsTheStatesOrHdf5s) {
  std::size_t in_tensors = 0;
  for (std::size_t at = 0; at < small().file.size(); ++at) in_tensors += !dataset_at(at).empty();
  EXPECT_GE(in_tensors, 2u * 280u);
}

}  // namespace
}  // namespace lockstep::checkpoint
