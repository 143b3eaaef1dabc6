// A rank's line of operations: in order, beside the rank, errors where they are waited for.
#include "lockstep/comm/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "lockstep/comm/gather.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "support/local_ranks.h"

namespace lockstep::comm {
namespace {

using testing::HasSubstr;

TEST(Queue, CarriesOutOperationsAndJobsInTheOrderInWhichTheyWereGiven) {
  run_local(3, [](Group& inner) {
    Queue group(inner);
    std::vector<int> order;
    std::vector<std::future<void>> ends;
    for (int job = 0; job < 20; ++job) {
      ends.push_back(group.start([&order, job](Group& g) {
        // Were ranks at different jobs, they would get each other's numbers.
        for (const auto& theirs : gather(g, std::vector{job})) EXPECT_EQ(theirs[0], job);
        order.push_back(job);
      }));
      if (job % 5 != 4) continue;
      for (const auto& theirs : gather(group, std::vector{100 + job}))  // an operation, in its turn
        EXPECT_EQ(theirs[0], 100 + job);
      EXPECT_EQ(order.size(), static_cast<std::size_t>(job) + 1);
    }
    for (std::future<void>& end : ends) end.get();
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  });
}

TEST(Queue, RunsJobsBesideItsRank) {
  run_local(1, [](Group& inner) {
    Queue group(inner);
    std::atomic<bool> let_go = false;
    const auto self = std::this_thread::get_id();
    auto end = group.start([&](Group&) {
      EXPECT_NE(std::this_thread::get_id(), self);
      while (!let_go) std::this_thread::yield();
    });
    let_go = true;  // never reached if start waited
    end.get();
  });
}

// A job that waits for its own rank's GPU keeps no other rank waiting.
TEST(Queue, WhatAJobWaitsForBeforeIsNotCounted) {
  run_local(1, [](Group& inner) {
    const double began = monotonic_seconds();
    Queue group(inner);
    std::string did;
    const auto wait = [&] {
      std::this_thread::sleep_for(std::chrono::seconds(1));
      did += "ready ";
    };
    group.start([&](Group&) { did += "job"; }, wait).get();
    EXPECT_EQ(did, "ready job");
    group.barrier();                                              // its time is taken after its end
    EXPECT_LE(group.seconds(), monotonic_seconds() - began - 1);  // however long the rest took
    EXPECT_THROW(
        group.start([&](Group&) { did += "more"; }, [] { throw Error(Code::kEnvironment, "lost"); })
            .get(),
        Error);
    EXPECT_EQ(did, "ready job");
  });
}

TEST(Queue, AnErrorOfAJobIsThrownWhereItIsWaitedFor) {
  run_local(1, [](Group& inner) {
    Queue group(inner);
    auto end = group.start([](Group&) { throw Error(Code::kDiffer, "a bit"); });
    group.barrier();  // goes on
    EXPECT_THROW(end.get(), Error);
  });
}

// A rank that leaves by an error aborts first, so a job that waits for it ends.
TEST(Queue, IsLeftWhenTheGroupIsStopped) {
  std::vector<std::string> said(2);
  try {
    run_local(2, [&](Group& inner) {
      Queue group(inner);
      if (group.rank() == Rank(1)) {
        group.abort({Code::kDiffer, "rank 1: a bit"});
        throw Error(Code::kDiffer, "a bit");
      }
      auto end = group.start([](Group& g) { g.barrier(); });
      try {
        end.get();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kDiffer);  // a verdict on the run is everybody's
        said[0] = error.what();
        throw;
      }
    });
  } catch (const Error& error) {
    said[1] = error.what();
  }
  EXPECT_THAT(said[0], HasSubstr("the group was stopped: rank 1: a bit"));
  EXPECT_EQ(said[1], "a bit");
}

}  // namespace
}  // namespace lockstep::comm
