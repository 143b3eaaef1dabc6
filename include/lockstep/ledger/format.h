// ledger.jsonl: the text of a run's evidence, one line a step (docs/ledger.md is its
// specification).
//
// A value has exactly one text: no spaces, fixed key order, lower-case digits, shortest floats, LF
// at the end of every line. Reading is strict: a line that would not be written like that is
// refused.
//
// Every line ends in its chain, SHA-256(chain of the line before || text of the line up to
// `,"chain":`) with 32 zero bytes before the first line. So the last chain vouches for every byte
// above it.
//
// Bits: of the values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockstep/core/ids.h"
#include "lockstep/hash/sha256.h"

namespace lockstep::ledger {

inline constexpr int kVersion = 1;

// The state that a run starts from where it is another run's.
struct From {
  hash::Digest recipe;  // that run's recipe id
  Step step;            // of that run, 1 or more
  hash::Digest state;   // state::commit of this run's step 0

  bool operator==(const From&) const = default;
};

// The first line: what the run is a run of.
struct Header {
  hash::Digest recipe;         // recipe id
  hash::Digest data;           // content hash of the data set
  std::int64_t semantics = 0;  // version of our arithmetic, 0 or more
  std::optional<From> from = {};
  hash::Digest chain = {};  // filled in by format_header and parse_header

  bool operator==(const Header&) const = default;
};

// Numbers of a step by name (a-z, 0-9 and _), in an order of their own.
template <class T>
using Named = std::vector<std::pair<std::string, T>>;

// One completed step.
struct Entry {
  Step step;                 // 1, 2, 3, ...
  std::int64_t samples = 0;  // drawn from the stream since the run began, this step included

  // Phase (a-z, 0-9 and _) and its loss, in the objective's order. A loss is for people and may be
  // infinite or NaN (written "inf", "-inf", "nan"); NaNs count as equal.
  Named<float> losses;

  std::optional<float> validation = {};  // loss on held-out samples after the update; some steps
  Named<double> evaluation = {};  // how far samples are from the data after it; empty on most steps

  hash::Digest before;                 // root of the state that the update read
  hash::Digest state;                  // root of the state that it left
  std::optional<hash::Digest> commit;  // SHA-256 tree of the state's bytes, on some steps
  hash::Digest chain;                  // filled in by format_entry and parse_entry
};

// The first of these that differs, in words ("state digest"); nothing if the entries are the same.
// The chain is not compared: it follows from the rest and from the lines before.
std::optional<std::string> difference(const Entry& a, const Entry& b);

// The line, LF included; sets `chain`. `previous` is the chain of the line before.
std::string format_header(Header& header);
std::string format_entry(Entry& entry, const hash::Digest& previous);

// The value of one line (without its LF). Throws Error(kCorrupt) saying what is wrong with the
// text, or that the chain is not that of `previous` and this text; the caller adds file and line.
Header parse_header(std::string_view line);
Entry parse_entry(std::string_view line, const hash::Digest& previous);

// parse_entry without the check of the chain: the line on its own, for saying what is wrong.
Entry parse_entry_unchained(std::string_view line);

}  // namespace lockstep::ledger
