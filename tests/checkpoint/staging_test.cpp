// Between the state that a step left and the bytes on the disk there is a copy in memory, a buffer
// and the kernel: whatever changes there stops the publication, and the older checkpoint stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/some_checkpoint.h"
#include "lockstep/checkpoint/store.h"
#include "lockstep/core/error.h"
#include "support/simulated_disk.h"

namespace lockstep::checkpoint {
namespace {

using namespace lockstep::checkpoint::testing;
using lockstep::testing::SimulatedDisk;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Retention kOne{.every = 1, .keep_last = 1, .keep_every = 0, .last = Step(9)};

// Flips one bit of the n-th byte that is appended to a checkpoint: a buffer, a bus or a page that
// is not what it was told.
class FlippingDisk final : public FileSystem {
 public:
  FlippingDisk(FileSystem& inner, std::uint64_t at) : inner_(inner), at_(at) {}
  std::unique_ptr<File> create_new(const std::filesystem::path& path) override {
    auto file = inner_.create_new(path);
    if (!path.string().ends_with(".h5.lockstep.tmp")) return file;
    return std::make_unique<FlippingFile>(std::move(file), at_);
  }
  std::unique_ptr<File> open_read(const std::filesystem::path& path) override {
    return inner_.open_read(path);
  }
  std::unique_ptr<File> open_append(const std::filesystem::path& path) override {
    return inner_.open_append(path);
  }
  void rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
    inner_.rename(from, to);
  }
  void remove(const std::filesystem::path& path) override { inner_.remove(path); }
  bool remove_abandoned(const std::filesystem::path& path) override {
    return inner_.remove_abandoned(path);
  }
  void sync_directory(const std::filesystem::path& path) override { inner_.sync_directory(path); }
  bool exists(const std::filesystem::path& path) override { return inner_.exists(path); }
  bool create_directory(const std::filesystem::path& path) override {
    return inner_.create_directory(path);
  }
  std::vector<std::string> list(const std::filesystem::path& path) override {
    return inner_.list(path);
  }

 private:
  struct FlippingFile final : File {
    FlippingFile(std::unique_ptr<File> inner, std::uint64_t at)
        : file(std::move(inner)), left(at) {}
    void append(ByteView bytes) override {
      Bytes changed(bytes.begin(), bytes.end());
      if (left < changed.size()) changed[left] ^= std::byte(4);
      left -= std::min<std::uint64_t>(left, changed.size());
      file->append(changed);
    }
    std::size_t read_at(std::uint64_t offset, MutableByteView into) override {
      return file->read_at(offset, into);
    }
    std::uint64_t size() override { return file->size(); }
    void sync() override { file->sync(); }
    void truncate(std::uint64_t size) override { file->truncate(size); }
    bool is_at(const std::filesystem::path& path) override { return file->is_at(path); }
    std::unique_ptr<File> file;
    std::uint64_t left;
  };

  FileSystem& inner_;
  std::uint64_t at_;
};

void save(FileSystem& fs, const Meta& meta, const state::State& state) {
  Saver saver(fs, "checkpoints", kOne);
  saver.save(meta, state);
  saver.wait();
}

void expect_only(SimulatedDisk& disk, Step step) {
  EXPECT_THAT(disk.list("checkpoints"), ElementsAre(file_name(step), file_name(step) + ".sha256"));
  EXPECT_TRUE(is_whole(disk, "checkpoints", step));
}

TEST(Staging, AnyFlippedBitOfTheCopyStopsThePublication) {
  SimulatedDisk disk;
  save(disk, some_meta(some_state(Step(1))), some_state(Step(1)));
  const state::State state = some_state(Step(2));
  const Meta meta = some_meta(state);  // of the state before the bit flips
  for (const state::Named& named : state.tensors) {
    at::Tensor tensor = named.tensor;
    auto* bytes = reinterpret_cast<std::byte*>(ops::write(tensor));
    for (const std::size_t at : {std::size_t{0}, tensor.nbytes() / 2, tensor.nbytes() - 1}) {
      bytes[at] ^= std::byte(0x10);
      try {
        save(disk, meta, state);
        ADD_FAILURE() << named.name << ", byte " << at << ": published";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kDiffer);
        EXPECT_THAT(error.what(), HasSubstr("step-00000002.h5 is not saved"));
      }
      bytes[at] ^= std::byte(0x10);
      expect_only(disk, Step(1));
    }
  }
  save(disk, meta, state);
  expect_only(disk, Step(2));
}

TEST(Staging, AnyFlippedBitOnTheWayToTheKernelStopsThePublication) {
  SimulatedDisk disk;
  save(disk, some_meta(some_state(Step(1))), some_state(Step(1)));
  const std::uint64_t length = disk.open_read("checkpoints/step-00000001.h5")->size();
  const state::State state = some_state(Step(2));
  for (std::uint64_t at = 0; at < length; at += 1009) {
    FlippingDisk flipping(disk, at);
    try {
      save(flipping, some_meta(state), state);
      ADD_FAILURE() << "byte " << at << ": published";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kEnvironment);
      EXPECT_THAT(error.what(), HasSubstr("does not read back the same"));
    }
    expect_only(disk, Step(1));
  }
}

}  // namespace
}  // namespace lockstep::checkpoint
