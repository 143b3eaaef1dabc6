#include "lockstep/hash/hmac.h"

#include <gtest/gtest.h>

#include <set>

namespace lockstep::hash {
namespace {

// RFC 4231, test cases 2 and 6.
TEST(Hmac, HasTheAnswersOfRfc4231) {
  EXPECT_EQ(hmac_sha256(as_bytes("Jefe"), as_bytes("what do ya want for nothing?")).hex(),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  const Bytes long_key(131, std::byte{0xaa});
  EXPECT_EQ(
      hmac_sha256(long_key, as_bytes("Test Using Larger Than Block-Size Key - Hash Key First"))
          .hex(),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(RandomBytes, AreNotTheSameTwice) {
  std::set<Digest> seen;
  for (int i = 0; i < 100; ++i) {
    Digest digest;
    random_bytes(digest.bytes);
    EXPECT_TRUE(seen.insert(digest).second);
  }
}

}  // namespace
}  // namespace lockstep::hash
