// Reading, appending to and comparing whole ledgers.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/core/file_system.h"
#include "lockstep/ledger/format.h"

namespace lockstep::ledger {

struct Ledger {
  Header header;
  std::vector<Entry> entries;  // entries[i] is step i + 1

  // The last step that it has, 0 if none.
  Step last() const { return Step(static_cast<std::int64_t>(entries.size())); }
  const Entry& at(Step step) const;  // from 1 to last()
  // Chain of a step's line, 0: the header's.
  const hash::Digest& chain(Step step) const {
    return step == Step(0) ? header.chain : at(step).chain;
  }
  // Of the last line: whoever knows it can check the whole file.
  const hash::Digest& chain() const { return chain(last()); }
  bool operator==(const Ledger& other) const { return chain() == other.chain(); }
};

// What a last line without LF means: a write that was cut short by a crash, or damage.
enum class TornTail { kRefuse, kDrop };

// Throws Error(kCorrupt), "<name>:<line>: step N: what is wrong", for the first line that is not
// canonical, does not continue the steps 1, 2, 3, ... or does not continue the chain; the message
// says whether the line was changed, dropped, repeated or moved, as far as the text tells. A file
// cut at the end of a line is a valid shorter ledger: what shows the cut is a checkpoint or a known
// chain.
Ledger parse(std::string_view text, const std::string& name, TornTail torn = TornTail::kRefuse);
Ledger read(FileSystem& fs, const std::filesystem::path& path, TornTail torn = TornTail::kRefuse);

// A ledger's file, and what it says.
struct Existing {
  std::string text;   // whole lines
  bool torn = false;  // the file has more, the beginning of a line
  Ledger ledger;
};
// Nothing if there is none. Error(kCorrupt) as `read`, but for a torn last line.
std::optional<Existing> read_existing(FileSystem& fs, const std::filesystem::path& path);

// Where two runs part. Nothing if one is a prefix of the other.
struct Difference {
  Step step;         // 0: the headers differ
  std::string what;  // "recipe", "data", "semantics", or as difference(Entry, Entry)
};
std::optional<Difference> first_difference(const Ledger& a, const Ledger& b);

// The one writer of a run's ledger. Not for use by several threads.
class Writer {
 public:
  // Creates the ledger (header line, published and durable), or goes on with the existing one, and
  // refuses another header: Error(kCannotCompare) for other semantics, Error(kUsage) for another
  // recipe, Error(kData) for other data. The lines of earlier attempts are published anew, without
  // a torn one, before the first new one, or at the first `sync`.
  Writer(FileSystem& fs, std::filesystem::path path, const Header& header,
         std::optional<Existing> existing);

  // What stood in the ledger on opening: the steps that an earlier attempt already did. Its entries
  // are let go once a new one is appended, so that memory does not grow with the steps.
  const Ledger& existing() const { return existing_; }

  Step last() const { return last_; }
  // Of the last step, or of one that stands in existing().
  const hash::Digest& chain(Step step) const {
    return step == last_ ? chain_ : existing_.chain(step);
  }

  // Publishes the file without its torn last line, if it has one. For when the rest of the run was
  // found to agree with the ledger: before, the torn line may be of use to who restores it.
  void drop_torn_line();

  // A step that stands there already (recomputed after a resume) is compared and nothing is
  // written: returns the difference, a finding, or nothing if they agree. The next new step is
  // appended (visible to readers at once, durable after `sync`). Other steps are a bug of the
  // caller.
  std::optional<Difference> record(Entry entry);

  // fsync. Error(kEnvironment) if the path leads to another file now, or to one of another length
  // than was written. After an Error from here or
  // from `record` the file may end in a torn line: open anew.
  void sync();

 private:
  void renew();
  void cut_half_line() noexcept;
  void open(std::uint64_t size);

  FileSystem& fs_;
  std::filesystem::path path_;
  std::string text_;  // of an existing ledger, until it is renewed
  bool torn_ = false;
  Ledger existing_;
  Step last_;
  hash::Digest chain_;  // of its line
  std::unique_ptr<File> file_;
  std::uint64_t size_ = 0;  // of the file, by what was written
};

}  // namespace lockstep::ledger
