#include "lockstep/hash/sha256.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lockstep/core/error.h"

namespace lockstep::hash {
namespace {

// FIPS 180-2, appendix B.
TEST(Sha256, GivesTheStandardsVectors) {
  EXPECT_EQ(sha256({}).hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256(as_bytes("abc")).hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(as_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")).hex(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(as_bytes(std::string(1'000'000, 'a'))).hex(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

RC_GTEST_PROP(Sha256, OfPiecesIsThatOfTheWhole, (const std::vector<std::string>& pieces)) {
  Sha256 hash;
  std::string whole;
  for (const auto& piece : pieces) {
    hash.update(as_bytes(piece));
    whole += piece;
  }
  RC_ASSERT(hash.finish() == sha256(as_bytes(whole)));
  RC_ASSERT(hash.finish() == sha256({}));
}

TEST(Digest, ReadsOnlyItsOwnHexadecimalForm) {
  const Digest digest = sha256(as_bytes("abc"));
  EXPECT_EQ(Digest::from_hex(digest.hex()), digest);
  std::string upper = digest.hex();
  upper[0] = 'B';
  EXPECT_THROW(Digest::from_hex(upper), Error);
  EXPECT_THROW(Digest::from_hex(digest.hex().substr(1)), Error);
  EXPECT_THROW(Digest::from_hex(digest.hex() + "0"), Error);
}

}  // namespace
}  // namespace lockstep::hash
