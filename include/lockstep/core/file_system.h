// The seam to the file system. Everything that must survive a crash goes through it, so that tests
// can fail the N-th call, write short, or drop what was not synced.
//
// All functions throw Error: kEnvironment ("cannot write …: No space left on device"), with path
// and errno text. They retry EINTR and continue short writes. A failed fsync is final: the pages
// may be gone, so the caller gives the file up and never syncs it again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/core/bytes.h"

namespace lockstep {

// An open file; closed by the destructor (an error on close is reported by `sync`, never lost: call
// it).
class File {
 public:
  virtual ~File() = default;
  virtual void append(ByteView bytes) = 0;
  virtual std::size_t read_at(std::uint64_t offset,
                              MutableByteView into) = 0;  // short only at the end
  virtual std::uint64_t size() = 0;
  virtual void sync() = 0;                        // fsync
  virtual void truncate(std::uint64_t size) = 0;  // what lies behind is gone
  // Whether the path leads to this very file.
  virtual bool is_at(const std::filesystem::path& path) = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  // No `path` is opened through a symbolic link in its last part, and none waits for a FIFO.
  //
  // create_new: the file must not exist (O_EXCL); it is locked against remove_abandoned, of other
  // processes too, until it is closed.
  virtual std::unique_ptr<File> create_new(const std::filesystem::path& path) = 0;
  virtual std::unique_ptr<File> open_read(const std::filesystem::path& path) = 0;
  // Created if absent. A file with a second name (hard link) is refused: that one would change,
  // too.
  virtual std::unique_ptr<File> open_append(const std::filesystem::path& path) = 0;
  virtual void rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
  virtual void remove(const std::filesystem::path& path) = 0;  // absent is fine
  // Removes it unless whoever made it with create_new has it open still: then false.
  virtual bool remove_abandoned(const std::filesystem::path& path) = 0;
  virtual void sync_directory(const std::filesystem::path& path) = 0;
  virtual bool exists(const std::filesystem::path& path) = 0;
  // One level; false if it is there already. A symbolic link in its place is refused: what is
  // written there would land elsewhere.
  virtual bool create_directory(const std::filesystem::path& path) = 0;
  virtual std::vector<std::string> list(
      const std::filesystem::path& path) = 0;  // names sorted by byte
};

// The real one.
FileSystem& real_file_system();

// A durable folder: its name is synced, too. make_folders makes those above as well, and leaves
// what is there as it is.
void make_folder(FileSystem& fs, const std::filesystem::path& path);
void make_folders(FileSystem& fs, const std::filesystem::path& path);

// Whole files. `publish` is the only way a finished file gets its name: temporary file beside it,
// write, fsync, rename, fsync of the directory. Leaves the old file (or none) on any failure but
// the last: whether the new name survives a crash is then unknown. Of two writers at the same time
// one gets an Error.
Bytes read_file(FileSystem& fs, const std::filesystem::path& path);
std::string read_text(FileSystem& fs, const std::filesystem::path& path);
void publish(FileSystem& fs, const std::filesystem::path& path, ByteView bytes);
// A file of lines to append to, created if absent. The part of a line that a killed writer or a full
// disk left at its end is cut off.
std::unique_ptr<File> open_lines(FileSystem& fs, const std::filesystem::path& path);
// The same for content that is made while it is written. before_rename runs when all bytes are
// durable and the file has not got its name yet.
void publish(FileSystem& fs, const std::filesystem::path& path,
             const std::function<void(File&)>& write,
             const std::function<void()>& before_rename = {});

// The temporary file is <path>.lockstep.tmp; `sweep` removes those that killed writers left in a
// folder.
std::filesystem::path temporary_of(const std::filesystem::path& path);
bool is_temporary(const std::string& name);
// The name that a temporary file will get; of another name that name itself.
std::string without_temporary(std::string name);
void sweep(FileSystem& fs, const std::filesystem::path& folder);

// Removes a temporary file if it can: for cleaning up after a failure, whose reason must not be
// hidden by a second.
void discard(FileSystem& fs, const std::filesystem::path& path) noexcept;

}  // namespace lockstep
