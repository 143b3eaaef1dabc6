// A file system whose N-th call fails, as on a full disk or with another reason. A loop over N = 1,
// 2, … until nothing failed visits every state that a failure can leave.
//
// A failing append writes half of its bytes first. Calls are those of the file system and of its
// files, counted together from 1, and kept as "verb name" for tests of their order.
#pragma once

#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"

namespace lockstep::testing {

// One thread at a time (a Saver's own, and its owner's after `wait`).
class FaultyFileSystem final : public FileSystem {
 public:
  enum class After { kRecovers, kStaysBroken };

  static constexpr int kNever = 1 << 30;

  FaultyFileSystem(FileSystem& inner, int fail_at, After after = After::kRecovers,
                   int error = ENOSPC)
      : inner_(inner), fail_at_(fail_at), after_(after), error_(error) {}

  // Instead of failing, that call finds what `body` has done, as by another process.
  void meanwhile(std::function<void()> body) { meanwhile_ = std::move(body); }

  bool failed() const { return static_cast<int>(calls_.size()) >= fail_at_; }
  const std::vector<std::string>& calls() const { return calls_; }
  bool removal_failed() const { return removal_failed_; }

  std::unique_ptr<File> create_new(const std::filesystem::path& path) override {
    call("create", path);
    return wrap(inner_.create_new(path), path);
  }
  std::unique_ptr<File> open_read(const std::filesystem::path& path) override {
    call("open", path);
    return wrap(inner_.open_read(path), path);
  }
  std::unique_ptr<File> open_append(const std::filesystem::path& path) override {
    call("open", path);
    return wrap(inner_.open_append(path), path);
  }
  void rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
    call("rename", from);
    inner_.rename(from, to);
  }
  void remove(const std::filesystem::path& path) override {
    if (fails("remove", path)) {
      removal_failed_ = true;
      fail("remove", path);
    }
    inner_.remove(path);
  }
  bool remove_abandoned(const std::filesystem::path& path) override {
    if (fails("remove", path)) {
      removal_failed_ = true;
      fail("remove", path);
    }
    return inner_.remove_abandoned(path);
  }
  void sync_directory(const std::filesystem::path& path) override {
    call("sync", path);
    inner_.sync_directory(path);
  }
  bool exists(const std::filesystem::path& path) override {
    call("inspect", path);
    return inner_.exists(path);
  }
  bool create_directory(const std::filesystem::path& path) override {
    call("create", path);
    return inner_.create_directory(path);
  }
  std::vector<std::string> list(const std::filesystem::path& path) override {
    call("list", path);
    return inner_.list(path);
  }

 private:
  class FaultyFile final : public File {
   public:
    FaultyFile(FaultyFileSystem& fs, std::unique_ptr<File> inner, std::filesystem::path path)
        : fs_(fs), inner_(std::move(inner)), path_(std::move(path)) {}
    void append(ByteView bytes) override {
      if (fs_.fails("write", path_)) {
        inner_->append(bytes.first(bytes.size() / 2));
        fs_.fail("write", path_);
      }
      inner_->append(bytes);
    }
    std::size_t read_at(std::uint64_t offset, MutableByteView into) override {
      fs_.call("read", path_);
      return inner_->read_at(offset, into);
    }
    std::uint64_t size() override {
      fs_.call("inspect", path_);
      return inner_->size();
    }
    void sync() override {
      fs_.call("sync", path_);
      inner_->sync();
    }
    void truncate(std::uint64_t size) override {
      fs_.call("cut", path_);
      inner_->truncate(size);
    }
    bool is_at(const std::filesystem::path& path) override {
      fs_.call("inspect", path_);
      return inner_->is_at(path);
    }

   private:
    FaultyFileSystem& fs_;
    std::unique_ptr<File> inner_;
    std::filesystem::path path_;
  };

  std::unique_ptr<File> wrap(std::unique_ptr<File> inner, const std::filesystem::path& path) {
    return std::make_unique<FaultyFile>(*this, std::move(inner), path);
  }
  bool fails(const std::string& verb, const std::filesystem::path& path) {
    calls_.push_back(verb + " " + path.filename().string());
    const int now = static_cast<int>(calls_.size());
    if (meanwhile_) {
      if (now == fail_at_) meanwhile_();
      return false;
    }
    return now == fail_at_ || (now > fail_at_ && after_ == After::kStaysBroken);
  }
  void call(const char* verb, const std::filesystem::path& path) {
    if (fails(verb, path)) fail(verb, path);
  }
  [[noreturn]] void fail(const std::string& verb, const std::filesystem::path& path) const {
    throw Error(Code::kEnvironment, "cannot " + verb + " " + path.string() + ": " +
                                        std::generic_category().message(error_));
  }

  FileSystem& inner_;
  const int fail_at_;
  const After after_;
  const int error_;
  std::function<void()> meanwhile_;
  std::vector<std::string> calls_;
  bool removal_failed_ = false;
};

}  // namespace lockstep::testing
