#include "lockstep/core/json.h"

#include <gtest/gtest.h>

#include <limits>

#include "lockstep/core/foreign.h"

namespace lockstep {
namespace {

std::string nested(int depth, const std::string& inner) {
  const auto n = static_cast<std::size_t>(depth);
  return std::string(n, '[') + inner + std::string(n, ']');
}

template <class Body>
std::string refusal(const Body& body) {
  try {
    body();
  } catch (const JsonError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Json, IsTextInTheOrderThatItWasMadeIn) {
  Json json = {{"z", 1}, {"a", nullptr}, {"inner", {{"list", std::vector<std::string>{"x", "y"}}}}};
  json["new"]["deep"] = true;
  json["z"] = Json::object();
  json.update({{"a", -2}, {"last", Json::array()}});
  EXPECT_EQ(json_line(json), R"({"z":{},"a":-2,"inner":{"list":["x","y"]},"new":{"deep":true},)"
                             R"("last":[]})"
                             "\n");
  const std::vector<std::pair<std::string, float>> pairs = {{"y", 0.5F}, {"x", 2}};
  EXPECT_EQ(json_text(pairs), R"({"y":0.5,"x":2.0})");
  EXPECT_EQ(json_text({{"a", Json::array()}, {"b", std::vector<int>{1}}}, 2),
            "{\n  \"a\": [],\n  \"b\": [\n    1\n  ]\n}");
}

TEST(Json, WritesNumbersWithAllTheirDigits) {
  Json list;
  list.push_back(0.1);
  list.push_back(0.1F);
  list.push_back(3.0);
  list.push_back(-0.0);
  list.push_back(1e300);
  list.push_back(std::numeric_limits<double>::quiet_NaN());
  list.push_back(std::numeric_limits<float>::infinity());
  list.push_back(std::numeric_limits<std::uint64_t>::max());
  list.push_back(std::numeric_limits<std::int64_t>::min());
  list.push_back(std::size_t{7});
  EXPECT_EQ(json_text(list),
            "[0.1,0.10000000149011612,3.0,-0.0,1e+300,null,null,18446744073709551615,"
            "-9223372036854775808,7]");
}

TEST(Json, EscapesTextsAndReplacesWhatIsNoUtf8) {
  EXPECT_EQ(json_text("\"\\/\b\f\n\r\t\x01\x7f"), "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\x7f\"");
  EXPECT_EQ(json_text("é\xff\xc3"), "\"é\uFFFD\uFFFD\"");
  EXPECT_EQ(json_text({{"\xff", 1}}), "{\"\uFFFD\":1}");
}

TEST(Json, ReadsWhatItWrote) {
  const Json json = {{"n", nullptr},
                     {"b", false},
                     {"i", std::numeric_limits<std::int64_t>::max()},
                     {"u", std::uint64_t{1} << 63},
                     {"d", -1.5},
                     {"s", "é"},
                     {"a", std::vector<Json>{1, "x", Json::array(), Json::object()}}};
  EXPECT_EQ(parse_json(json_line(json)), json);
  EXPECT_TRUE(json.at("i").is_integer());
  EXPECT_FALSE(json.at("u").is_integer());
  EXPECT_TRUE(json.at("u").is_number());
  EXPECT_EQ(json.at("u").get<double>(), 0x1p63);
  EXPECT_EQ(json.at("i").get<std::int64_t>(), std::numeric_limits<std::int64_t>::max());
  EXPECT_FALSE(parse_json("1.0")->is_integer());
}

TEST(Json, SaysWhatItIsNot) {
  Json json = {{"one", 1}};
  EXPECT_EQ(refusal([&] { json.at("two"); }), "there is no member two");
  EXPECT_EQ(refusal([&] { json.at("one").at("two"); }), "there is no member two");
  EXPECT_EQ(refusal([&] { json.at("one").get<std::string>(); }), "the value is not a string");
  EXPECT_EQ(refusal([&] { json.at("one").get<bool>(); }), "the value is not a boolean");
  EXPECT_EQ(refusal([&] { Json(1.0).get<std::int64_t>(); }),
            "the value is not an integer of 64 bits");
  EXPECT_EQ(refusal([&] { Json("1").get<double>(); }), "the value is not a number");
  EXPECT_EQ(refusal([&] { json.elements(); }), "the value is not an array");
  EXPECT_EQ(refusal([&] { Json().members(); }), "the value is not an object");
  EXPECT_EQ(refusal([&] { json["one"]["two"] = 2; }), "the value is not an object");
  EXPECT_EQ(refusal([&] { json.push_back(2); }), "the value is not an array");
  EXPECT_EQ(json.find("two"), nullptr);
  EXPECT_FALSE(Json(1).contains("one"));
}

TEST(ForeignJson, IsParsedToADepth) {
  const auto parsed = parse_json(R"({"a": [1, {"b": "[[["}]})");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->at("a").elements()[1].at("b"), "[[[");
  EXPECT_EQ(json_text(parse_json(nested(kDeepestJson, "")).value()), nested(kDeepestJson, ""));
  EXPECT_EQ(json_text(parse_json(nested(kDeepestJson, "1")).value()), nested(kDeepestJson, "1"));
  EXPECT_FALSE(parse_json(nested(kDeepestJson + 1, "")));
  EXPECT_FALSE(parse_json(R"({"time":)" + nested(200'000, "") + "}"));
  EXPECT_FALSE(parse_json(std::string(200'000, '[')));
}

TEST(ForeignJson, IsNothingIfItIsNoneOrTooLarge) {
  for (const char* text : {"", "{", "nonsense", "1 2", "\"\xff\"", "1e999", "NaN", "{\"a\":1,}"})
    EXPECT_FALSE(parse_json(text)) << text;
  EXPECT_FALSE(parse_json("1" + std::string(kMostJson, ' ')));
  EXPECT_EQ(parse_json("1" + std::string(kMostJson - 1, ' ')), Json(1));
}

// A search of all members for each new one would take minutes.
TEST(ForeignJson, MayHaveManyNamesAndTheLastOfEqualOnesCounts) {
  EXPECT_EQ(json_text(parse_json(R"({"b":1,"a":{"x":2},"b":{"b":3}})").value()),
            R"({"b":{"b":3},"a":{"x":2}})");
  std::string text = "{";
  for (int i = 0; i < 300'000; ++i) text += '"' + std::to_string(i) + "\":1,";
  text.back() = '}';
  ASSERT_LE(text.size(), kMostJson);
  EXPECT_EQ(parse_json(text).value().members().size(), 300'000U);
}

}  // namespace
}  // namespace lockstep
