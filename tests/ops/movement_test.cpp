// The allow list names operators that exist, in an order that can be searched.
#include "ops/movement.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace lockstep::ops {
namespace {

TEST(Movement, ListsOperatorsThatExistSortedAndOnce) {
  std::set<std::string> known;
  for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) known.insert(name.name);
  for (const Movement& movement : movements()) {
    EXPECT_TRUE(known.contains(std::string(movement.op))) << movement.op;
    EXPECT_TRUE(is_movement(movement.op)) << movement.op;
    EXPECT_FALSE(movement.why.empty());
  }
  const auto unsorted =
      std::adjacent_find(movements().begin(), movements().end(),
                         [](const auto& a, const auto& b) { return a.op >= b.op; });
  EXPECT_EQ(unsorted, movements().end());
  for (const char* op : {"aten::add", "aten::cop", "aten::copy", "aten::views", "", "view"})
    EXPECT_FALSE(is_movement(op)) << op;
}

}  // namespace
}  // namespace lockstep::ops
