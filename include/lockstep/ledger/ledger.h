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

  // Chain of the last line: whoever knows it can check the whole file.
  const hash::Digest& chain() const {
    return entries.empty() ? header.chain : entries.back().chain;
  }
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

// Where two runs part. Nothing if one is a prefix of the other.
struct Difference {
  Step step;         // 0: the headers differ
  std::string what;  // "recipe", "data", "semantics", or as difference(Entry, Entry)
};
std::optional<Difference> first_difference(const Ledger& a, const Ledger& b);

// The one writer of a run's ledger. Not for use by several threads.
class Writer {
 public:
  // Creates the ledger (header line, published and durable), or opens an existing one: reads and
  // checks all of it (Error(kCorrupt)) but a torn last line, and refuses another header:
  // Error(kUsage) for another recipe or semantics, Error(kData) for other data. The lines of
  // earlier attempts are published anew, without a torn one, before the first new one, or at the
  // first `sync`.
  Writer(FileSystem& fs, std::filesystem::path path, const Header& header);

  // What stands in the ledger: on opening, the steps that an earlier attempt already did.
  const Ledger& ledger() const { return ledger_; }

  // Publishes the file without its torn last line, if it has one. For when the rest of the run was
  // found to agree with the ledger: before, the torn line may be of use to who restores it.
  void drop_torn_line();

  // A step that stands there already (recomputed after a resume) is compared and nothing is
  // written: returns the difference, a finding, or nothing if they agree. The next new step is
  // appended (visible to readers at once, durable after `sync`). Other steps are a bug of the
  // caller.
  std::optional<Difference> record(Entry entry);

  // fsync. Error(kEnvironment) if the path leads to another file now. After an Error from here or
  // from `record` the file may end in a torn line: open anew.
  void sync();

 private:
  void renew();

  FileSystem& fs_;
  std::filesystem::path path_;
  std::string text_;   // of an existing ledger, until it is renewed
  bool torn_ = false;  // the file has more, the beginning of a line
  Ledger ledger_;
  std::unique_ptr<File> file_;
};

}  // namespace lockstep::ledger
