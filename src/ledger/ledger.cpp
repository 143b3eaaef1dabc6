#include "lockstep/ledger/ledger.h"

#include <algorithm>

#include "lockstep/core/foreign.h"
#include "lockstep/core/other_semantics.h"

namespace lockstep::ledger {
namespace {

constexpr const char* kHint = "the evidence is damaged; restore the file from another copy";

// Entry of the line that should be step `expected`; says what happened if it is not.
Entry next_entry(std::string_view line, std::int64_t expected, const hash::Digest& previous) {
  const Entry found = parse_entry_unchained(line);
  const std::int64_t step = found.step.value;
  if (step > expected) {
    const std::string gap = step - expected == 1 ? "step " + std::to_string(expected)
                                                 : "steps " + std::to_string(expected) + " to " +
                                                       std::to_string(step - 1);
    throw Error(Code::kCorrupt, "this line is step " + std::to_string(step) + ", so " + gap +
                                    " was dropped or moved, or this line was changed");
  }
  if (step < expected) {
    throw Error(Code::kCorrupt, "this line is step " + std::to_string(step) +
                                    " again: a line was repeated, moved or changed");
  }
  return parse_entry(line, previous);
}

// Length of the part that consists of whole lines.
std::size_t whole_lines(std::string_view text) {
  const std::size_t end = text.rfind('\n');
  return end == std::string_view::npos ? 0 : end + 1;
}

void check_same_run(const Header& here, const Header& wanted, const std::string& name) {
  if (here.semantics != wanted.semantics)
    throw of_other_semantics(name, std::to_string(here.semantics), wanted.semantics);
  if (here.recipe != wanted.recipe) {
    throw Error(Code::kUsage,
                name + " is of recipe " + here.recipe.hex().substr(0, 16) + ", not of " +
                    wanted.recipe.hex().substr(0, 16),
                "use another run folder");
  }
  if (here.data != wanted.data) {
    throw Error(Code::kData,
                name + " is of the data " + here.data.hex().substr(0, 16) + ", not of " +
                    wanted.data.hex().substr(0, 16),
                "give the run its own data, or use another run folder");
  }
}

}  // namespace

const Entry& Ledger::at(Step step) const {
  LOCKSTEP_ASSERT(step >= Step(1) && step <= last());
  return entries[static_cast<std::size_t>(step.value - 1)];
}

Ledger parse(std::string_view text, const std::string& name, TornTail torn) {
  const std::size_t whole = whole_lines(text);
  Ledger ledger;
  std::int64_t number = 0;
  std::size_t begin = 0;
  const auto where = [&] {
    std::string place = name + ":" + std::to_string(number);
    if (number > 1) place += ": step " + std::to_string(number - 1);
    return place;
  };
  while (begin < whole) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view line = text.substr(begin, end - begin);
    ++number;
    try {
      if (number == 1) {
        ledger.header = parse_header(line);
      } else {
        ledger.entries.push_back(next_entry(line, number - 1, ledger.chain()));
      }
    } catch (const Error& error) {
      throw Error(Code::kCorrupt, where() + ": " + error.message(), kHint);
    }
    begin = end + 1;
  }
  ++number;
  if (whole < text.size() && torn == TornTail::kRefuse) {
    throw Error(Code::kCorrupt, where() + ": the line is cut off (no line end)",
                "a write was cut short, as by a full disk: the command that trained this run drops "
                "the line and goes on; if the step has a checkpoint, restore the file from a copy");
  }
  if (number == 1) throw Error(Code::kCorrupt, name + ":1: the ledger has no first line", kHint);
  return ledger;
}

Ledger read(FileSystem& fs, const std::filesystem::path& path, TornTail torn) {
  return parse(read_lines(fs, path), path.string(), torn);
}

std::optional<Difference> first_difference(const Ledger& a, const Ledger& b) {
  if (a.header.recipe != b.header.recipe) return Difference{Step(0), "recipe"};
  if (a.header.semantics != b.header.semantics) return Difference{Step(0), "semantics"};
  if (a.header.data != b.header.data) return Difference{Step(0), "data"};
  if (a.header.from != b.header.from) return Difference{Step(0), "the state it starts from"};
  const std::size_t both = std::min(a.entries.size(), b.entries.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (auto what = difference(a.entries[i], b.entries[i])) {
      return Difference{a.entries[i].step, *what};
    }
  }
  return std::nullopt;
}

std::optional<Existing> read_existing(FileSystem& fs, const std::filesystem::path& path) {
  if (!fs.exists(path)) return std::nullopt;
  Existing existing{.text = read_lines(fs, path), .ledger = {}};
  existing.ledger = parse(existing.text, path.string(), TornTail::kDrop);
  const std::size_t whole = whole_lines(existing.text);
  existing.torn = whole < existing.text.size();
  existing.text.resize(whole);
  return existing;
}

Writer::Writer(FileSystem& fs, std::filesystem::path path, const Header& header,
               std::optional<Existing> existing)
    : fs_(fs), path_(std::move(path)) {
  if (existing) {
    check_same_run(existing->ledger.header, header, path_.string());
    text_ = std::move(existing->text);
    torn_ = existing->torn;
    existing_ = std::move(existing->ledger);
    last_ = existing_.last();
    chain_ = existing_.chain();
    return;
  }
  existing_.header = header;
  const std::string line = format_header(existing_.header);
  publish(fs, path_, as_bytes(line));
  chain_ = existing_.header.chain;
  open(line.size());
}

void Writer::drop_torn_line() {
  if (torn_) renew();
}

// What was read may never have reached the disk: after a failed fsync the kernel shows pages that
// it will not write any more, and reports that only once. So the ledger goes to a new file before
// its next line.
void Writer::renew() {
  publish(fs_, path_, as_bytes(text_));
  open(text_.size());
  text_.clear();
  text_.shrink_to_fit();
  torn_ = false;
}

void Writer::open(std::uint64_t size) {
  file_ = fs_.open_append(path_);
  size_ = size;
}

std::optional<Difference> Writer::record(Entry entry) {
  LOCKSTEP_ASSERT(entry.step <= last_ + 1, "step " + std::to_string(entry.step.value) + " after " +
                                               std::to_string(last_.value));
  if (entry.step <= last_) {
    if (auto what = difference(existing_.at(entry.step), entry))
      return Difference{entry.step, *what};
    return std::nullopt;
  }
  if (!file_) renew();
  existing_.entries = {};
  const std::string line = format_entry(entry, chain_);
  try {
    file_->append(as_bytes(line));
  } catch (const Error&) {
    cut_half_line();  // of a full disk, say: others would take it for damage
    throw;
  }
  size_ += line.size();
  last_ = entry.step;
  chain_ = entry.chain;
  return std::nullopt;
}

void Writer::cut_half_line() noexcept try {
  if (file_->is_at(path_)) file_->truncate(size_);
} catch (const Error&) {  // then it is dropped when the run goes on
}

void Writer::sync() {
  if (!file_) return renew();
  file_->sync();
  if (!file_->is_at(path_) || file_->size() != size_)
    throw Error(Code::kEnvironment,
                path_.string() + " was replaced, removed or cut while the run wrote to it",
                "nothing else may write there; the same command goes on from the last checkpoint");
}

}  // namespace lockstep::ledger
