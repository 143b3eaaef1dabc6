#include "lockstep/checkpoint/statement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lockstep/core/error.h"
#include "support/some_keys.h"

namespace lockstep::checkpoint {
namespace {

using lockstep::testing::some_key;
using ::testing::HasSubstr;

constexpr const char* kName = "step-00000500.h5.sig";

Statement some_statement() {
  Statement statement{.run = hash::sha256(as_bytes("run")),
                      .recipe = hash::sha256(as_bytes("recipe")),
                      .data = hash::sha256(as_bytes("data")),
                      .step = Step(500),
                      .parent = {},
                      .checkpoint = hash::sha256(as_bytes("checkpoint")),
                      .ledger = hash::sha256(as_bytes("ledger")),
                      .key = {},
                      .signature = {}};
  sign(statement, some_key());
  return statement;
}

const std::string& text() {
  static const std::string text = format_statement(some_statement());
  return text;
}

std::string refusal(const std::string& changed) {
  try {
    parse_statement(changed, kName);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kCorrupt);
    EXPECT_THAT(error.what(), HasSubstr(kName));
    return error.what();
  }
  return "";
}

// What somebody with a key makes of other lines.
std::string signed_again(const std::string& above) {
  return above + "signature " + to_hex(some_key().sign(as_bytes(above)).bytes) + "\n";
}

std::string above() {
  return text().substr(0, text().find("signature "));
}

TEST(Statement, HasTheFormOfItsDescription) {
  const auto line = [](const char* name) {
    return std::string(name) + " " + hash::sha256(as_bytes(name)).hex() + "\n";
  };
  EXPECT_EQ(above(), "lockstep statement 1\n" + line("run") + line("recipe") + line("data") +
                         "step 500\nparent " + std::string(64, '0') + "\n" + line("checkpoint") +
                         line("ledger") + "key " + some_key().public_key().hex() + "\n");
  EXPECT_EQ(text(), signed_again(above()));
  EXPECT_EQ(parse_statement(text(), kName), some_statement());
  EXPECT_EQ(digest_of(some_statement()), hash::sha256(as_bytes(above())));
}

TEST(Statement, RefusesAnyFlippedBitOfItself) {
  for (std::size_t bit = 0; bit < 8 * text().size(); ++bit) {
    std::string changed = text();
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(refusal(changed), "") << bit;
  }
}

TEST(Statement, RefusesItselfCutOrExtendedAnywhere) {
  for (std::size_t length = 0; length < text().size(); ++length)
    EXPECT_NE(refusal(text().substr(0, length)), "") << length;
  for (const char* extra : {"\n", " ", "\r", "x\n", "signature \n"})
    EXPECT_NE(refusal(text() + extra), "");
}

// Signed, and yet no statement: one value has one text.
TEST(Statement, RefusesOtherTextsOfTheSameValuesAlthoughTheyAreSigned) {
  EXPECT_EQ(refusal(signed_again(above())), "");
  const auto with = [](const std::string& from, const std::string& to) {
    std::string changed = above();
    changed.replace(changed.find(from), from.size(), to);
    return signed_again(changed);
  };
  for (const char* step : {"step 0500", "step +500", "step 500 ", "step  500", "step -500",
                           "step 5e2", "step ", "step 99999999999999999999"})
    EXPECT_THAT(refusal(with("step 500", step)), HasSubstr(":5: expected a number")) << step;
  EXPECT_THAT(refusal(with("data 3a6eb", "data 3A6EB")), HasSubstr(":4: expected 64 lower-case"));
  EXPECT_THAT(refusal(with("statement 1", "statement 2")), HasSubstr("version"));
  EXPECT_THAT(refusal(with("run ", "RUN ")), HasSubstr(":2: expected 'run '"));
  EXPECT_THAT(refusal(with("\nkey", "\n\nkey")), HasSubstr(":9: expected 'key '"));
}

TEST(Statement, RefusesASignatureByAnotherKeyThanItNames) {
  Statement statement = some_statement();
  statement.key = some_key(1).public_key();
  EXPECT_THAT(refusal(format_statement(statement)), HasSubstr("not that of its text and key"));
}

}  // namespace
}  // namespace lockstep::checkpoint
