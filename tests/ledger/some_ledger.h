// Ledgers for the tests of this folder.
#pragma once

#include <string>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/ledger/ledger.h"

namespace lockstep::ledger {

inline hash::Digest digest_named(const std::string& name) {
  return hash::sha256(as_bytes(name));
}

inline Header some_header() {
  return {digest_named("recipe"), digest_named("data"), 3, {}};
}

inline Entry some_entry(std::int64_t step) {
  Entry entry;
  entry.step = Step(step);
  entry.samples = 18 * step;
  entry.losses = {{"discriminator", 0.1f * static_cast<float>(step)}, {"generator", 1e-7f}};
  entry.before = digest_named("state " + std::to_string(step - 1));
  entry.state = digest_named("state " + std::to_string(step));
  if (step % 3 == 0) entry.commit = digest_named("commit " + std::to_string(step));
  return entry;
}

// Header line and the lines of steps 1 to `steps`, each with its LF.
inline std::vector<std::string> some_lines(std::int64_t steps) {
  Header header = some_header();
  std::vector<std::string> lines{format_header(header)};
  hash::Digest chain = header.chain;
  for (std::int64_t step = 1; step <= steps; ++step) {
    Entry entry = some_entry(step);
    lines.push_back(format_entry(entry, chain));
    chain = entry.chain;
  }
  return lines;
}

inline std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += line;
  return text;
}

// The message of the Error(kCorrupt) that parsing gives; empty if there is none.
inline std::string refusal(const std::string& text) {
  try {
    parse(text, "ledger.jsonl");
  } catch (const Error& error) {
    return error.code() == Code::kCorrupt ? error.what() : std::string("wrong code");
  }
  return {};
}

}  // namespace lockstep::ledger
