// Ledgers that are whole in themselves and say something else, for tests.
#pragma once

#include <filesystem>
#include <string>

#include "lockstep/ledger/ledger.h"
#include "train/some_run.h"

namespace lockstep::audit {

// What `change` makes of a run's ledger, with all chains made anew. Returns the head.
template <class Change>
hash::Digest forge_ledger(const std::filesystem::path& run, Change&& change) {
  const std::filesystem::path path = run / "ledger.jsonl";
  ledger::Ledger forged = ledger::read(real_file_system(), path);
  change(forged);
  std::string text = ledger::format_header(forged.header);
  hash::Digest chain = forged.header.chain;
  for (ledger::Entry& entry : forged.entries) {
    text += ledger::format_entry(entry, chain);
    chain = entry.chain;
  }
  testing::write_bytes(path, text);
  return chain;
}

}  // namespace lockstep::audit
