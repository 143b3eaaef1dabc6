#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

#include "support/cpu.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "lockstep/core/error.h"
#include "lockstep/numerics/isa.h"

namespace lockstep::numerics {
namespace {

RC_GTEST_PROP(Parallel, PiecesCoverTheRangeOnceInMultiplesOfTheGrain, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(0, 1000);
  const auto grain = *rc::gen::inRange<std::int64_t>(1, 100);
  use_threads(*rc::gen::inRange(1, 9));
  std::vector<std::atomic<int>> visits(static_cast<std::size_t>(n));
  std::atomic<bool> aligned{true};
  cpu().parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    if (begin % grain != 0 || (end % grain != 0 && end != n)) aligned = false;
    for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
  });
  use_threads(1);
  RC_ASSERT(aligned);
  for (const auto& count : visits) RC_ASSERT(count == 1);
}

TEST(Parallel, RethrowsTheFirstExceptionInPieceOrder) {
  use_threads(4);
  try {
    cpu().parallel_for(4, 1, [](std::int64_t begin, std::int64_t) {
      if (begin >= 1) throw std::runtime_error(std::to_string(begin));
    });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "1");
  }
  use_threads(1);
}

TEST(Parallel, PiecesDoNotCallTheSameCpu) {
  use_threads(2);
  const auto nested = [] {
    cpu().parallel_for(2, 1, [](std::int64_t, std::int64_t) {
      cpu().parallel_for(2, 1, [](std::int64_t, std::int64_t) {});
    });
  };
  EXPECT_THROW(nested(), Error);
  use_threads(1);
}

TEST(Parallel, ZeroThreadsAreABug) {
  EXPECT_THROW(use_threads(0), Error);
}

#if defined(__x86_64__)
TEST(Parallel, AForeignFloatingPointModeIsRefused) {
  for (const unsigned mode : {0x8000u, 0x0040u, 0x2000u, 0x6000u}) {
    std::thread([mode] {
      _mm_setcsr(_mm_getcsr() | mode);
      try {
        cpu().parallel_for(1, 1, [](std::int64_t, std::int64_t) {});
        ADD_FAILURE() << "mode " << mode << " went unseen";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kEnvironment);
      }
    }).join();
  }
}
#endif

TEST(Isa, UnknownNamesAreAUsageErrorAndForeignOnesAnEnvironmentError) {
  try {
    isa_named("sse9");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
  }
#if defined(__x86_64__)
  try {
    isa_named("neon");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kEnvironment);
  }
#endif
}

TEST(Isa, TheBestIsTheDefault) {
  use_isa(best_isa());
  EXPECT_EQ(cpu().isa(), usable_isas().back());
  for (const Isa isa : usable_isas()) {
    use_isa(isa);
    EXPECT_EQ(cpu().isa(), isa);
  }
  use_isa(best_isa());
}

TEST(Isa, WhatTheProcessChoseHoldsInEveryThread) {
  for (const Isa isa : usable_isas()) {
    set_usual_isa(isa);
    EXPECT_EQ(Cpu().isa(), isa);
    std::thread([isa] { EXPECT_EQ(Cpu(2).isa(), isa); }).join();
  }
  set_usual_isa(best_isa());
}

}  // namespace
}  // namespace lockstep::numerics
