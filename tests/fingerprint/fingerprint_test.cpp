#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "lockstep/core/json.h"
#include "lockstep/fingerprint/compare.h"
#include "lockstep/fingerprint/kernels.h"
#include "lockstep/fingerprint/settings.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/isa.h"
#include "lockstep/ops/device.h"

namespace lockstep::fingerprint {
namespace {

TEST(SelfTest, IsTheSameOnEveryMachineWithEveryIsaAndThreadCount) {
  for (const numerics::Isa isa : numerics::usable_isas()) {
    for (const int threads : {1, 2, 7}) {
      numerics::Cpu cpu(threads, isa);
      const ops::DeviceScope here(cpu);
      const KernelHashes found = portable_kernels();
      ASSERT_EQ(found.size(), golden_kernels().size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].first, golden_kernels()[i].name);
        EXPECT_EQ(found[i].second.hex(), golden_kernels()[i].hash)
            << found[i].first << ", " << numerics::name(isa) << ", threads: " << threads;
      }
    }
  }
}

TEST(Fingerprint, NamesWhatResultsAreBlamedOn) {
  const Fingerprint facts = take();
  for (const char* name :
       {"lockstep", "self_test", "isa", "cpu", "kernel", "glibc", "compiler", "system", "mkl",
        "onednn", "transport", "gpu", "libtorch", "hdf5", "openssl"}) {
    const auto fact =
        std::find_if(facts.begin(), facts.end(), [&](const auto& f) { return f.first == name; });
    ASSERT_NE(fact, facts.end()) << name;
    EXPECT_FALSE(fact->second.empty()) << name;
  }
}

TEST(NativeKernels, AreTheSameTwiceAndWithMoreThreads) {
  const KernelHashes alone = native_kernels(ops::Precision::kFloat32);
  {
    numerics::Cpu cpu(3);
    const ops::DeviceScope here(cpu);
    EXPECT_EQ(native_kernels(ops::Precision::kFloat32), alone);
  }
  for (const auto& [name, digest] : alone)
    EXPECT_NE(std::ranges::find(golden_kernels(), name, &GoldenKernel::name),
              golden_kernels().end())
        << name << " has no portable kernel beside it";
}

// A product of ours is a chain of fmas, one of MKL is not: the hashes are of different kernels.
TEST(NativeKernels, AreLibTorchs) {
  const KernelHashes ours = portable_kernels();
  for (const auto& [name, digest] : native_kernels(ops::Precision::kFloat32))
    EXPECT_EQ(std::ranges::find(ours, std::pair(name, digest)), ours.end()) << name;
}

TEST(Settings, AreSetBeforeTheFirstNativeKernel) {
  native_kernels(ops::Precision::kFloat32);
  for (const Setting& setting : native_settings(ops::Precision::kFloat32)) {
    const char* const value = std::getenv(std::string(setting.variable).c_str());
    if (setting.allowed.front().empty()) continue;  // may be unset
    ASSERT_NE(value, nullptr) << setting.variable;
    EXPECT_NE(std::ranges::find(setting.allowed, value), setting.allowed.end()) << value;
  }
}

TEST(NativeKernels, OfAnotherPrecisionHaveOtherNamesWhereTheyMultiply) {
  const KernelHashes exact = native_kernels(ops::Precision::kFloat32),
                     rounded = native_kernels(ops::Precision::kBfloat16);
  ASSERT_EQ(exact.size(), rounded.size());
  std::size_t products = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (exact[i] == rounded[i]) continue;
    EXPECT_EQ(rounded[i].first, exact[i].first + "_bfloat16");
    EXPECT_NE(rounded[i].second, exact[i].second) << exact[i].first;
    ++products;
  }
  EXPECT_EQ(products, 5U);
}

TEST(Settings, OfAProcessHaveTf32OrNot) {
  native_kernels(ops::Precision::kFloat32);
  EXPECT_NO_THROW(require_native_settings(ops::Precision::kBfloat16));
  try {
    require_native_settings(ops::Precision::kTf32);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kEnvironment);
    EXPECT_EQ(error.message(),
              "native numerics have begun without TF32 in this process, and the libraries do not "
              "change that");
  }
}

class Nodes : public ::testing::Test {
 protected:
  static Node node(const std::string& name) {
    static const Fingerprint facts = take(Kernels::kBoth);
    return {name, facts};
  }
  static Node changed(const std::string& name, const std::string& what, const std::string& value) {
    Node one = node(name);
    std::erase_if(one.facts, [&](const auto& pair) { return pair.first == what; });
    if (!value.empty()) one.facts.emplace_back(what, value);
    return one;
  }
  static void expect(const std::vector<Node>& nodes, const std::string& sentence, Code any,
                     Code portable, Code native) {
    const Comparison found = compare(nodes);
    ASSERT_EQ(found.findings.size(), sentence.empty() ? 0U : 1U);
    if (!sentence.empty()) {
      EXPECT_EQ(found.findings[0].sentence, sentence);
    }
    EXPECT_EQ(verdict(found, Question::kAny), any);
    EXPECT_EQ(verdict(found, Question::kPortable), portable);
    EXPECT_EQ(verdict(found, Question::kNative), native);
  }
};

TEST_F(Nodes, ThatAreTheSame) {
  expect({node("a"), node("b"), node("c")}, "", Code::kOk, Code::kOk, Code::kOk);
}

TEST_F(Nodes, WhoseDriverDoesNotTell) {
  const Node untold = changed("b", "gpu", "unknown");
  expect({node("a"), untold}, "", Code::kOk, Code::kOk, Code::kOk);
  Node first = node("a"), other = untold;
  first.facts.emplace_back("driver", "580.65.06");
  expect({first, untold}, "", Code::kOk, Code::kOk, Code::kOk);
  other.facts.emplace_back("driver", "580.82.07");  // of a GPU's instance this is told
  expect({first, other},
         "driver: 580.65.06 on a; 580.82.07 on b (can change bits in native numerics)", Code::kOk,
         Code::kOk, Code::kEnvironment);
  // Of nothing else.
  const std::string system = fact(node("a").facts, "system");
  expect({node("a"), changed("b", "system", "unknown")},
         "system: " + system + " on a; unknown on b (changes no bits)", Code::kOk, Code::kOk,
         Code::kOk);
}

TEST_F(Nodes, ThatTriedAnotherPrecision) {
  const Node rounded{"b", take(Kernels::kBoth, ops::Precision::kBfloat16)};
  EXPECT_TRUE(compare({node("a")}).native_tried);
  EXPECT_FALSE(compare({node("a"), rounded}).native_tried);
  EXPECT_FALSE(compare({node("a"), rounded}, ops::Precision::kBfloat16).native_tried);
  EXPECT_TRUE(compare({rounded, rounded}, ops::Precision::kBfloat16).native_tried);
}

TEST_F(Nodes, OneThatComputesWrongly) {
  expect({node("a"), changed("b", "portable.conv2d", "00"), node("c")},
         "conv2d (portable) is wrong on b: these are not the bits that every machine must give; do "
         "not train there",
         Code::kDiffer, Code::kDiffer, Code::kDiffer);
  // Alone, or all in the same way: the golden bits are in the program.
  expect({changed("a", "portable.updates", "00"), changed("b", "portable.updates", "00")},
         "updates (portable) is wrong on a and b: these are not the bits that every machine must "
         "give; do not train there",
         Code::kDiffer, Code::kDiffer, Code::kDiffer);
}

TEST_F(Nodes, OneWithOtherNativeBits) {
  expect({node("a"), node("b"), changed("c", "native.conv2d", "00")},
         "conv2d (native) gives other bits on c than on a and b: native runs will differ; portable "
         "ones are not touched",
         Code::kDiffer, Code::kOk, Code::kDiffer);
}

TEST_F(Nodes, NamesThatDiffer) {
  expect({node("a"), changed("b", "mkl", "2020")},
         "mkl: " + fact(node("a").facts, "mkl") +
             " on a; 2020 on b (can change bits in native numerics)",
         Code::kOk, Code::kOk, Code::kEnvironment);
  expect({changed("a", "env.MKL_DYNAMIC", "TRUE"), node("b")},
         "env.MKL_DYNAMIC: TRUE on a; not set on b (can change bits in native numerics)", Code::kOk,
         Code::kOk, Code::kEnvironment);
  expect({node("a"), changed("b", "kernel", "7")},
         "kernel: " + fact(node("a").facts, "kernel") + " on a; 7 on b (changes no bits)",
         Code::kOk, Code::kOk, Code::kOk);
}

TEST_F(Nodes, WithoutNativeKernelsSayNothingAboutThem) {
  EXPECT_TRUE(compare({node("a")}).native_tried);
  EXPECT_FALSE(compare({{"a", take()}}).native_tried);
  const Comparison mixed = compare({node("a"), {"b", take()}});
  EXPECT_FALSE(mixed.native_tried);
  EXPECT_EQ(verdict(mixed, Question::kAny), Code::kOk);
}

TEST(Fingerprint, IsAsBeforeWhenTakenAgain) {
  EXPECT_EQ(take(), take());
}

TEST(Fingerprint, ItsJsonHasEveryFactInOrder) {
  const Fingerprint facts = {{"b", "x \"quoted\"\n"}, {"a", "\xff not UTF-8"}, {"env.C", ""}};
  const auto json = parse_json(to_json(facts));
  ASSERT_TRUE(json && json->is_object());
  ASSERT_EQ(json->members().size(), 3u);
  EXPECT_EQ(json->members()[0].name, "b");
  EXPECT_EQ(json->at("b"), facts[0].second);
  EXPECT_EQ(json->at("env.C"), "");
  EXPECT_EQ(from_json(to_json({{"b", "x"}, {"a", ""}})), (Fingerprint{{"b", "x"}, {"a", ""}}));
  for (const char* bad : {"", "[]", "{\"a\":1}", "{"}) EXPECT_THROW(from_json(bad), Error) << bad;
}

}  // namespace
}  // namespace lockstep::fingerprint
