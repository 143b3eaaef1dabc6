#include "lockstep/core/kinds.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

struct Colour {
  std::int64_t hue = 7;
};
void describe(Fields&, Colour&) {}

struct Row {
  std::string_view word, meaning;
  std::unique_ptr<KindOptions> (*options)();
};

constexpr Row kRows[] = {{"plain", "as it is", &OptionsOf<NoOptions>::make},
                         {"painted", "in a colour", &OptionsOf<Colour>::make}};

TEST(Kind, HasTheFirstWordAndKeepsEachKindsOptions) {
  Kind<Row> kind(kRows);
  EXPECT_EQ(kind.word(), "plain");
  kind = "painted";
  kind.as<Colour>().hue = 9;
  kind = "plain";
  kind = "painted";
  EXPECT_EQ(kind.as<Colour>().hue, 9);
}

TEST(Kind, ACopyIsOfItsOwn) {
  Kind<Row> kind(kRows);
  kind = "painted";
  Kind<Row> copy = kind;
  kind.as<Colour>().hue = 9;
  EXPECT_EQ(copy.as<Colour>().hue, 7);
  copy = kind;
  EXPECT_EQ(copy.as<Colour>().hue, 9);
}

TEST(Kind, AConstantOneThatNobodyAskedHasTheDefaults) {
  Kind<Row> kind(kRows);
  kind = "painted";
  const Kind<Row>& constant = kind;
  EXPECT_EQ(constant.as<Colour>().hue, 7);
  EXPECT_EQ(&constant.as<Colour>(), &constant.as<Colour>());
  kind.as<Colour>().hue = 9;
  EXPECT_EQ(constant.as<Colour>().hue, 9);
}

TEST(Kind, AnUnknownWordIsAUsageErrorThatListsTheWords) {
  Kind<Row> kind(kRows);
  kind = "striped";
  try {
    kind.row("coat");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    EXPECT_EQ(error.message(), "coat: there is no 'striped'");
    EXPECT_EQ(error.hint(), "use plain or painted");
  }
  EXPECT_EQ(listed({"a", "b", "c"}), "a, b or c");
}

}  // namespace
}  // namespace lockstep
