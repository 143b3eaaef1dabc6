// Copies beside the kernels (numerics/device_memory.h): on an emulated GPU, whose streams work in
// random orders, and on real and interpreted ones.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "support/gpu/gpu.h"

namespace lockstep::numerics {
namespace {

// Longer than all pinned memory of a way, and no multiple of it.
constexpr std::size_t kLong = (std::size_t{12} << 20) + 1232;
// So often that what no event orders is seen.
constexpr int kOften = 20;

DeviceMemory& memory() {
  static const Gpu gpu = test::gpu::open_gpu(1);
  return *gpu.memory;
}

std::vector<char> some_bytes(std::size_t count, unsigned seed) {
  std::vector<char> bytes(count);
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<char>((i * 2654435761U + seed * 40503U) >> 11);
  return bytes;
}

std::vector<char> bytes_at(const void* there, std::size_t count) {
  std::vector<char> bytes(count);
  memory().to_host(count, there, bytes.data());
  return bytes;
}

// On the GPU, with these bytes.
class There {
 public:
  explicit There(const std::vector<char>& bytes)
      : size_(bytes.size()), at_(memory().take(bytes.size())) {
    fill(bytes);
  }
  ~There() { memory().give_back(at_); }
  There(const There&) = delete;
  There& operator=(const There&) = delete;

  void fill(const std::vector<char>& bytes) { memory().from_host(size_, bytes.data(), at_); }
  // What is there already is written over it, behind the kernels.
  void fill(const There& other) { memory().copy(size_, other.at_, at_); }
  ByteView view() const { return {static_cast<const std::byte*>(at_), size_}; }

 private:
  std::size_t size_;
  void* at_;
};

std::vector<char> finished(DeviceMemory::Download& download, std::size_t count) {
  std::vector<char> bytes(count);
  void* const to = bytes.data();
  download.finish({&to, 1});
  return bytes;
}

TEST(GpuCopies, OfManySizesComeBackAsTheyWent) {
  const std::vector<std::size_t> sizes = {1, 300,   kLong, 70'000, (std::size_t{4} << 20) - 1,
                                          5, kLong, 2000};
  std::vector<std::unique_ptr<There>> there;
  for (unsigned round = 0; round < 3; ++round) {
    // Several on their way, then one back, through the same pinned memory.
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::vector<char> bytes = some_bytes(sizes[i], 10 * round + static_cast<unsigned>(i));
      there.push_back(std::make_unique<There>(bytes));
      std::memset(bytes.data(), 0, sizes[i]);  // the caller's again
    }
    for (std::size_t i = sizes.size(); i-- > 0;) {
      const auto* const at = there[i]->view().data();
      EXPECT_EQ(bytes_at(at, sizes[i]), some_bytes(sizes[i], 10 * round + static_cast<unsigned>(i)))
          << sizes[i];
    }
    there.clear();
  }
}

TEST(GpuCopies, GoUpBesideTheKernels) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{5000}, kLong}) {
    const int often = size == kLong ? 2 : kOften;
    for (int i = 0; i < often; ++i) {
      std::vector<char> bytes = some_bytes(size, static_cast<unsigned>(i));
      const std::vector<char> expected = bytes;
      const auto upload = memory().begin_from_host(size, bytes.data());
      std::memset(bytes.data(), 0, size);  // the caller's again
      void* const there = upload->take();
      EXPECT_EQ(bytes_at(there, size), expected) << size;
      memory().give_back(there);
    }
  }
}

TEST(GpuCopies, SeveralAreUnderWay) {
  std::vector<std::unique_ptr<DeviceMemory::Upload>> uploads;
  for (unsigned i = 0; i < 6; ++i)
    uploads.push_back(memory().begin_from_host(9000, some_bytes(9000, i).data()));
  for (unsigned i = 0; i < 6; i += 2) {
    void* const there = uploads[i]->take();
    EXPECT_EQ(bytes_at(there, 9000), some_bytes(9000, i));
    memory().give_back(there);
  }
  // The others are given back.
}

TEST(GpuCopies, BringDownWhatWasThereWhenTheyBegan) {
  for (const std::size_t size : {std::size_t{3}, std::size_t{8192}, kLong}) {
    const int often = size == kLong ? 2 : kOften;
    const There after(some_bytes(size, 1000));
    There state(some_bytes(size, 0));
    for (int i = 0; i < often; ++i) {
      const std::vector<char> before = some_bytes(size, static_cast<unsigned>(i));
      state.fill(There(before));
      const ByteView piece = state.view();
      const auto download = memory().begin_to_host({&piece, 1});
      state.fill(after);  // the next step
      EXPECT_EQ(finished(*download, size), before) << size;
    }
  }
}

// Few bytes in the order of the kernels, many beside them.
class GpuPieces : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(OfThem, GpuPieces, testing::Values(10000, 700000));

TEST_P(GpuPieces, ComeDownWhereTheyAreWanted) {
  const std::vector<std::size_t> sizes = {1, 0, 4095, GetParam(), 0, 4096, 7};
  std::vector<std::unique_ptr<There>> there;
  std::vector<ByteView> pieces;
  std::vector<std::vector<char>> here;
  std::vector<void*> to;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    there.push_back(std::make_unique<There>(some_bytes(sizes[i], static_cast<unsigned>(i))));
    pieces.push_back(there.back()->view());
    here.emplace_back(sizes[i]);
  }
  for (std::vector<char>& piece : here) to.push_back(piece.data());
  memory().begin_to_host(pieces)->finish(to);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    EXPECT_EQ(here[i], some_bytes(sizes[i], static_cast<unsigned>(i))) << i;
}

// As LibTorch's strided tensors ask for: sides in another order, of which one repeats its items.
class GpuItems : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(OfBytes, GpuItems, testing::Values(1, 2, 4, 8));

TEST_P(GpuItems, GoWhereTheyBelong) {
  const std::size_t item = GetParam();
  constexpr std::array<std::int64_t, 3> kSizes = {5, 7, 131}, kFrom = {131, 0, 1}, kTo = {1, 5, 35};
  constexpr std::size_t kCount = 5 * 7 * 131;
  const std::vector<char> from = some_bytes(5 * 131 * item, 1);
  std::vector<char> expected(kCount * item);
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t j = 0; j < 7; ++j)
      for (std::int64_t k = 0; k < 131; ++k)
        std::memcpy(expected.data() + static_cast<std::size_t>(i + 5 * j + 35 * k) * item,
                    from.data() + static_cast<std::size_t>(131 * i + k) * item, item);
  const There source(from), target(some_bytes(kCount * item, 2));
  const void* const to = target.view().data();
  memory().copy_items({.item = item,
                       .sizes = kSizes,
                       .to = const_cast<void*>(to),
                       .to_strides = kTo,
                       .from = source.view().data(),
                       .from_strides = kFrom});
  EXPECT_EQ(bytes_at(to, expected.size()), expected);
}

TEST(GpuCopies, OfNothingAreNothing) {
  EXPECT_EQ(memory().begin_from_host(0, nullptr)->take(), nullptr);
  memory().begin_from_host(0, nullptr);
  memory().begin_to_host({})->finish({});
}

TEST(GpuCopies, ThatNobodyWantsGiveTheirMemoryBack) {
  const auto left = [] {
    bytes_at(There({0}).view().data(), 1);  // all is done
    return memory().left();
  };
  const std::vector<char> bytes = some_bytes(kLong, 0);
  const There there(bytes);
  const ByteView piece = there.view();
  memory().begin_from_host(kLong, bytes.data());
  memory().begin_to_host({&piece, 1});
  const auto before = left();
  for (int i = 0; i < 3; ++i) {
    memory().begin_from_host(kLong, bytes.data());
    memory().begin_to_host({&piece, 1});
    finished(*memory().begin_to_host({&piece, 1}), kLong);
    memory().give_back(memory().begin_from_host(kLong, bytes.data())->take());
  }
  EXPECT_GE(*left(), *before - static_cast<std::int64_t>(kLong / 2));  // others may use the GPU
}

// As LibTorch's allocator keeps it: here another order.
TEST(GpuCopies, HaveWhatOthersKeepBeforeMemoryIsLacking) {
  constexpr std::size_t kMuch = 4 * kLong;
  const Gpu others = memory().own_stream();
  // A way's stream is made with its first copy, which takes memory of a GPU's own.
  memory().give_back(memory().begin_from_host(kLong, some_bytes(kLong, 0).data())->take());
  std::vector<void*> kept;
  for (auto bytes = static_cast<std::size_t>(*memory().left()); bytes >= kLong;) {
    try {
      kept.push_back(others.memory->take(bytes));
    } catch (const std::bad_alloc&) {
      bytes /= 2;
    }
  }
  const auto give_back = [&] {
    for (void* const block : std::exchange(kept, {})) others.memory->give_back(block);
    static_cast<void>(others.memory->left());  // its work is done
  };
  int asked = 0;
  memory().when_lacking([&] {
    ++asked;
    give_back();
  });
  const std::vector<char> bytes = some_bytes(kMuch, 0);
  EXPECT_NO_THROW({
    for (int i = 0; i < 2; ++i) {
      void* const there = memory().begin_from_host(kMuch, bytes.data())->take();
      EXPECT_EQ(asked, 1);
      EXPECT_TRUE(bytes_at(there, kMuch) == bytes);
      memory().give_back(there);
    }
  });
  memory().when_lacking({});
  EXPECT_TRUE(kept.empty());
  give_back();
}

}  // namespace
}  // namespace lockstep::numerics
