// Ledgers: the document, and each of its lines. Each line that reads is also chained anew, as
// somebody would who knows the format.
#include "lockstep/ledger/ledger.h"

#include "fuzz/target.h"

using namespace lockstep;

namespace {

void try_document(const std::string& text) {
  for (const auto torn : {ledger::TornTail::kRefuse, ledger::TornTail::kDrop}) {
    ledger::Ledger ledger;
    if (!fuzz::accepts({Code::kCorrupt}, [&] { ledger = ledger::parse(text, "a.jsonl", torn); }))
      continue;
    std::string again = ledger::format_header(ledger.header);
    hash::Digest chain = ledger.header.chain;
    for (ledger::Entry& entry : ledger.entries) {
      again += ledger::format_entry(entry, chain);
      chain = entry.chain;
    }
    FUZZ_REQUIRE(chain == ledger.chain());
    const std::size_t torn_bytes = text.size() - (text.rfind('\n') + 1);
    FUZZ_REQUIRE(again == text.substr(0, text.size() - torn_bytes));
    FUZZ_REQUIRE(torn_bytes == 0 || torn == ledger::TornTail::kDrop);
  }
}

// The lines that read, numbered and chained as in an honest ledger: it must be accepted.
void try_repaired(const std::string& text) {
  ledger::Header header;
  std::string document = ledger::format_header(header);
  hash::Digest chain = header.chain;
  std::int64_t step = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    fuzz::accepts({Code::kCorrupt}, [&] { ledger::parse_header(line); });
    ledger::Entry entry;
    if (!fuzz::accepts({Code::kCorrupt}, [&] { entry = ledger::parse_entry_unchained(line); }))
      continue;
    entry.step = Step(++step);
    document += ledger::format_entry(entry, chain);
    chain = entry.chain;
  }
  const ledger::Ledger ledger = ledger::parse(document, "repaired", ledger::TornTail::kRefuse);
  FUZZ_REQUIRE(ledger.chain() == chain && ledger.entries.size() == static_cast<std::size_t>(step));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text(data, size);
  try_document(text);
  try_repaired(text);
  return 0;
}
