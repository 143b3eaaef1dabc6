#include "lockstep/hdf5/canonical.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "hdf5/some_file.h"
#include "lockstep/core/error.h"
#include "lockstep/hdf5/reader.h"

namespace lockstep::hdf5 {
namespace {

namespace stdfs = std::filesystem;

// A folder of its own for each test, gone afterwards.
class Folder {
 public:
  Folder() {
    static int count = 0;
    path_ = stdfs::path(testing::TempDir()) /
            ("hdf5-canonical-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
    stdfs::create_directories(path_);
  }
  ~Folder() { stdfs::remove_all(path_); }
  stdfs::path operator/(const char* name) const { return path_ / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(stdfs::directory_iterator(path_), stdfs::directory_iterator()));
  }

 private:
  stdfs::path path_;
};

// The real file system, with a full disk from its n-th change on.
class FullDisk final : public FileSystem {
 public:
  explicit FullDisk(int n) : left_(n) {}
  bool was_full() const { return left_ < 0; }

  std::unique_ptr<File> create_new(const stdfs::path& path) override {
    count();
    return std::make_unique<FullFile>(*this, real_.create_new(path));
  }
  std::unique_ptr<File> open_read(const stdfs::path& path) override {
    return real_.open_read(path);
  }
  std::unique_ptr<File> open_append(const stdfs::path& path) override {
    return real_.open_append(path);
  }
  void rename(const stdfs::path& from, const stdfs::path& to) override {
    count();
    real_.rename(from, to);
  }
  void remove(const stdfs::path& path) override { real_.remove(path); }
  bool remove_abandoned(const stdfs::path& path) override { return real_.remove_abandoned(path); }
  void sync_directory(const stdfs::path& path) override {
    count();
    real_.sync_directory(path);
  }
  bool exists(const stdfs::path& path) override { return real_.exists(path); }
  bool create_directory(const stdfs::path& path) override { return real_.create_directory(path); }
  std::vector<std::string> list(const stdfs::path& path) override { return real_.list(path); }

 private:
  struct FullFile final : File {
    FullFile(FullDisk& owner, std::unique_ptr<File> real) : disk(owner), file(std::move(real)) {}
    void append(ByteView bytes) override {
      disk.count();
      file->append(bytes);
    }
    std::size_t read_at(std::uint64_t offset, MutableByteView into) override {
      return file->read_at(offset, into);
    }
    std::uint64_t size() override { return file->size(); }
    void sync() override {
      disk.count();
      file->sync();
    }
    void truncate(std::uint64_t size) override { file->truncate(size); }
    bool is_at(const stdfs::path& path) override { return file->is_at(path); }
    FullDisk& disk;
    std::unique_ptr<File> file;
  };

  void count() {
    if (--left_ < 0) throw Error(Code::kEnvironment, "no space left");
  }

  FileSystem& real_ = real_file_system();
  int left_;
};

std::vector<DatasetSpec> arbitrary_specs() {
  std::vector<DatasetSpec> specs;
  std::set<std::string> names;
  const auto count = *rc::gen::inRange(0, 40);
  for (int i = 0; i < count; ++i) {
    // Groups come one after another, so that reading gives the order of writing.
    DatasetSpec spec{"/g" + std::to_string(i / 10) + "/inner/" +
                         std::string(*rc::gen::inRange<std::size_t>(1, 90), 'x') +
                         std::to_string(i),
                     *rc::gen::element(Type::kF32, Type::kU8, Type::kU32, Type::kI64),
                     {}};
    const auto rank = *rc::gen::inRange(0, 5);
    for (int d = 0; d < rank; ++d) spec.shape.push_back(*rc::gen::inRange(1, 12));
    specs.push_back(spec);
  }
  return specs;
}

RC_GTEST_PROP(CanonicalFile, ReadsBackToWhatWasWritten, ()) {
  const Folder folder;
  const auto specs = arbitrary_specs();
  publish_some(real_file_system(), folder / "a.h5", specs);
  const Bytes image = read_file(real_file_system(), folder / "a.h5");
  const Reader reader(image, "a.h5");
  RC_ASSERT(reader.datasets() == specs);
  const auto data = some_data(specs);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const ByteView read = reader.data(i);
    RC_ASSERT(std::equal(read.begin(), read.end(), data[i].begin(), data[i].end()));
    RC_ASSERT(specs[i].bytes() < 4096u || reader.extents()[i].offset % 4096 == 0u);
  }
  RC_ASSERT(reader.integer("step") == 500);
  RC_ASSERT(reader.text("format") == "lockstep test");
}

RC_GTEST_PROP(CanonicalFile, HasTheSameSkeletonEveryTime, ()) {
  const auto specs = arbitrary_specs();
  auto attributes = some_attributes();
  const Skeleton first = make_skeleton(specs, attributes);
  std::swap(attributes[0], attributes[1]);
  const Bytes stale(*rc::gen::inRange<std::size_t>(1, 100'000), std::byte{0xa5});
  const Skeleton second = make_skeleton(specs, attributes);
  RC_ASSERT(first.length == second.length);
  RC_ASSERT(first.metadata.size() == second.metadata.size());
  for (std::size_t i = 0; i < first.metadata.size(); ++i) {
    RC_ASSERT(first.metadata[i].offset == second.metadata[i].offset);
    RC_ASSERT(first.metadata[i].bytes == second.metadata[i].bytes);
  }
}

TEST(CanonicalFile, CostsNoMemoryForItsTensors) {
  const std::vector<DatasetSpec> specs{{"/huge", Type::kF32, {1 << 20, 1 << 20}},
                                       {"/behind", Type::kU8, {5}}};
  const Skeleton skeleton = make_skeleton(specs, {});
  EXPECT_GT(skeleton.length, std::uint64_t{1} << 42);
  std::size_t metadata = 0;
  for (const auto& piece : skeleton.metadata) metadata += piece.bytes.size();
  EXPECT_LT(metadata, 16'384u);
}

TEST(CanonicalFile, ShowsItsBlocksInOrder) {
  const Folder folder;
  Bytes seen;
  publish_some(real_file_system(), folder / "a.h5", some_specs(), [&](ByteView block) {
    EXPECT_EQ(seen.size() % kBlockBytes, 0u);
    seen.insert(seen.end(), block.begin(), block.end());
  });
  EXPECT_GT(seen.size(), kBlockBytes);
  EXPECT_EQ(seen, read_file(real_file_system(), folder / "a.h5"));
}

TEST(CanonicalFile, KeepsTheOldFileWhereverTheDiskIsFull) {
  const Folder folder;
  const auto path = folder / "a.h5";
  publish_some(real_file_system(), path, some_specs());
  const Bytes old_file = read_file(real_file_system(), path);
  auto specs = some_specs();
  specs.pop_back();
  for (int n = 0;; ++n) {
    FullDisk disk(n);
    try {
      publish_some(disk, path, specs);
      EXPECT_FALSE(disk.was_full());
      EXPECT_GE(n, 4);  // create, write, sync, rename, sync of the folder
      break;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kEnvironment);
    }
    EXPECT_EQ(folder.files(), 1u) << n;
    // Only after the rename the new file may stand there.
    const Bytes now = read_file(real_file_system(), path);
    if (now != old_file) {
      EXPECT_EQ(Reader(now, "a.h5").datasets().size(), specs.size());
    }
  }
}

TEST(CanonicalFile, TakesWhatItCannotStoreForABug) {
  const auto refused = [](const DatasetSpec& spec) {
    try {
      make_skeleton(std::vector{spec}, {});
    } catch (const Error& error) {
      return error.code() == Code::kBug;
    }
    return false;
  };
  EXPECT_THROW(make_skeleton(std::vector<DatasetSpec>{{"/a/b/c", Type::kU8, {1}},
                                                      {"/a/d", Type::kU8, {1}},
                                                      {"/a/b/e", Type::kU8, {1}}},
                             {}),
               Error);  // a group is entered again
  EXPECT_TRUE(refused({"/empty", Type::kF32, {3, 0}}));
  EXPECT_TRUE(refused({"relative", Type::kF32, {3}}));
  EXPECT_TRUE(refused({"/a//b", Type::kF32, {3}}));
  EXPECT_TRUE(refused({"/a/", Type::kF32, {3}}));
  EXPECT_TRUE(refused({"/a/../b", Type::kF32, {3}}));
  EXPECT_TRUE(refused({"/a b", Type::kF32, {3}}));
  EXPECT_TRUE(refused({"/rank", Type::kF32, {1, 1, 1, 1, 1, 1, 1, 1, 1}}));
}

}  // namespace
}  // namespace lockstep::hdf5
