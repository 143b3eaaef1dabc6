#include "lockstep/fingerprint/fingerprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lockstep/numerics/isa.h"
#include "lockstep/numerics/parallel.h"

namespace lockstep::fingerprint {
namespace {

TEST(SelfTest, IsTheSameOnEveryMachineWithEveryIsaAndThreadCount) {
  for (const numerics::Isa isa : numerics::usable_isas()) {
    numerics::select_isa(numerics::name(isa));
    for (const int threads : {1, 2, 7}) {
      numerics::set_threads(threads);
      EXPECT_EQ(self_test().hex(), kSelfTest) << numerics::name(isa) << ", threads: " << threads;
    }
  }
  numerics::set_threads(1);
  numerics::select_isa({});
}

TEST(Fingerprint, NamesWhatResultsAreBlamedOn) {
  const Fingerprint facts = take();
  for (const char* name : {"lockstep", "self_test", "isa", "cpu", "kernel", "glibc", "compiler",
                           "libtorch", "hdf5", "openssl"}) {
    const auto fact =
        std::find_if(facts.begin(), facts.end(), [&](const auto& f) { return f.first == name; });
    ASSERT_NE(fact, facts.end()) << name;
    EXPECT_FALSE(fact->second.empty()) << name;
  }
}

TEST(Fingerprint, IsAsBeforeWhenTakenAgain) {
  EXPECT_EQ(take(), take());
}

TEST(Fingerprint, ItsJsonHasEveryFactInOrder) {
  const Fingerprint facts = {{"b", "x \"quoted\"\n"}, {"a", "\xff not UTF-8"}, {"env.C", ""}};
  const auto json = nlohmann::ordered_json::parse(to_json(facts));
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json.begin().key(), "b");
  EXPECT_EQ(json["b"], facts[0].second);
  EXPECT_EQ(json["env.C"], "");
}

}  // namespace
}  // namespace lockstep::fingerprint
