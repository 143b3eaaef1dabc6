#include "lockstep/hash/sign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lockstep/core/error.h"
#include "support/some_keys.h"

namespace lockstep::hash {
namespace {

using lockstep::testing::some_key;
using lockstep::testing::some_pem;
using ::testing::HasSubstr;

struct Vector {
  const char* public_key;
  std::string message;
  const char* signature;
};

// RFC 8032, 7.1, tests 1 to 3.
const std::vector<Vector>& vectors() {
  static const std::vector<Vector> all = {
      {"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
       "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf"
       "9"
       "b46bd25bf5f0595bbe24655141438e7a100b"},
      {"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "\x72",
       "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f"
       "1"
       "1d8c387b2eaeb4302aeeb00d291612bb0c00"},
      {"fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "\xaf\x82",
       "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984"
       "d"
       "c6594a7c15e9716ed28dc027beceea1ec40a"}};
  return all;
}

TEST(Sign, HasTheAnswersOfRfc8032) {
  for (std::size_t i = 0; i < vectors().size(); ++i) {
    const Vector& expected = vectors()[i];
    const PrivateKey key = some_key(i);
    EXPECT_EQ(key.public_key().hex(), expected.public_key);
    const Signature signature = key.sign(as_bytes(expected.message));
    EXPECT_EQ(to_hex(signature.bytes), expected.signature);
    EXPECT_TRUE(is_signed(as_bytes(expected.message), key.public_key(), signature));
  }
}

TEST(Sign, RefusesAnyFlippedBitOfMessageSignatureAndKey) {
  const std::string message = "step 500\n";
  const PrivateKey key = some_key();
  const Signature signature = key.sign(as_bytes(message));
  for (std::size_t bit = 0; bit < 8 * message.size(); ++bit) {
    std::string changed = message;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(is_signed(as_bytes(changed), key.public_key(), signature)) << bit;
  }
  for (std::size_t bit = 0; bit < 512; ++bit) {
    Signature changed = signature;
    changed.bytes[bit / 8] ^= std::byte(1 << bit % 8);
    EXPECT_FALSE(is_signed(as_bytes(message), key.public_key(), changed)) << bit;
  }
  for (std::size_t bit = 0; bit < 256; ++bit) {
    PublicKey changed = key.public_key();
    changed.bytes[bit / 8] ^= std::byte(1 << bit % 8);
    EXPECT_FALSE(is_signed(as_bytes(message), changed, signature)) << bit;
  }
}

TEST(Sign, KeysGoThroughPemAndNewOnesDiffer) {
  EXPECT_EQ(some_key().pem(), some_pem());
  const PrivateKey one = PrivateKey::generate(), other = PrivateKey::generate();
  EXPECT_NE(one.public_key(), other.public_key());
  EXPECT_EQ(PrivateKey::from_pem(one.pem()).public_key(), one.public_key());
  EXPECT_EQ(PublicKey::from_pem(one.public_key().pem()), one.public_key());
  EXPECT_EQ(PrivateKey::from_pem(one.pem()).sign({}), one.sign({}));
}

constexpr const char* kX25519 =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VuBCIEIHhv77IhpIOghTAkZGayZmYKdgLWcFG+91a01XH5eQt+\n"
    "-----END PRIVATE KEY-----\n";
constexpr const char* kX25519Public =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VuAyEAv4pJ9nQZdy5FrY7YJPDul4KKVA8XNe6oiN7lIE+7HW4=\n"
    "-----END PUBLIC KEY-----\n";
constexpr const char* kUnderAPassword =
    "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
    "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiVVbfsY4wZFQICCAAw\n"
    "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEAcx1h2E8YlUAnEWI7+pkwYEQG+4\n"
    "1R3A8f8Eyb3uQGK/c3JgjLhF9WYoQSxasidAedvZHgUWW24iIsS+1XJMT2oSHsaU\n"
    "1fATj4M3V7w9PfPjeBE=\n"
    "-----END ENCRYPTED PRIVATE KEY-----\n";

template <class Body>
void expect_no_key(Body&& body, const std::string& text) {
  try {
    body(text);
    ADD_FAILURE() << "accepted: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("it holds no Ed25519 p")) << text;
  }
}

TEST(Sign, RefusesWhatIsNoKeyOfItsKind) {
  const std::string cut = some_pem().substr(0, 60), shared = "hello\n";
  const std::string public_text = some_key().public_key().pem();
  for (const std::string& text : {std::string(), shared, cut, public_text, std::string(kX25519),
                                  std::string(kUnderAPassword)})
    expect_no_key(PrivateKey::from_pem, text);
  for (const std::string& text : {std::string(), shared, some_pem(), std::string(kX25519Public)})
    expect_no_key(PublicKey::from_pem, text);
}

}  // namespace
}  // namespace lockstep::hash
