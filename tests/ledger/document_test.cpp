// docs/ledger.md against the code.
#include <gtest/gtest.h>

#include "ledger/some_ledger.h"

namespace lockstep::ledger {
namespace {

std::string document() {
  return read_text(real_file_system(), LOCKSTEP_SOURCE_DIR "/docs/ledger.md");
}

TEST(LedgerDocument, ShowsAWholeValidLedger) {
  const std::string text = document();
  const std::string fence = "```json\n";
  const std::size_t begin = text.find(fence) + fence.size();
  const std::string example = text.substr(begin, text.find("```", begin) - begin);
  Header header = some_header();
  std::vector<std::string> lines{format_header(header)};
  hash::Digest chain = header.chain;
  for (std::int64_t step = 1; step <= 2; ++step) {
    Entry entry = some_entry(step);
    if (step == 2) entry.commit = digest_named("commit 2");
    lines.push_back(format_entry(entry, chain));
    chain = entry.chain;
  }
  EXPECT_EQ(example, joined(lines));
  EXPECT_EQ(parse(example, "docs/ledger.md").entries.size(), 2u);
}

TEST(LedgerDocument, IsOfTheVersionThatIsWritten) {
  EXPECT_TRUE(document().starts_with("# The ledger, version " + std::to_string(kVersion) + "\n"));
}

}  // namespace
}  // namespace lockstep::ledger
