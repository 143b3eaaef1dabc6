// Statements beside checkpoints. Each input is also tried signed anew by a key that all know, as
// somebody would who has one.
#include "lockstep/checkpoint/statement.h"

#include "fuzz/target.h"
#include "support/some_keys.h"

using namespace lockstep;

namespace {

const hash::PrivateKey& known_key() {
  static const hash::PrivateKey key = testing::some_key();
  return key;
}

void try_it(const std::string& text) {
  checkpoint::Statement statement;
  if (!fuzz::accepts({Code::kCorrupt},
                     [&] { statement = checkpoint::parse_statement(text, "a.sig"); }))
    return;
  FUZZ_REQUIRE(checkpoint::format_statement(statement) == text);
  FUZZ_REQUIRE(statement.step >= Step(0));
  if (statement.key != known_key().public_key()) return;  // there are keys that sign everything
  checkpoint::Statement other = statement;
  other.step = Step(statement.step.value ^ 1);
  FUZZ_REQUIRE(!fuzz::accepts({Code::kCorrupt}, [&] {
    checkpoint::parse_statement(checkpoint::format_statement(other), "a.sig");
  }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const hash::PrivateKey& key = known_key();
  const std::string text = fuzz::text(data, size);
  try_it(text);
  if (const std::size_t line = text.rfind("\nkey "); line != std::string::npos) {
    const std::string above = text.substr(0, line) + "\nkey " + key.public_key().hex() + "\n";
    try_it(above + "signature " + to_hex(key.sign(as_bytes(above)).bytes) + "\n");
  }
  return 0;
}
