// What `verify` found, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "lockstep/audit/verify.h"

namespace lockstep::audit {

// A line a finding; that it is one line is expected.
inline std::string lines_of(const VerifyResult& result) {
  std::string lines;
  for (const Finding& finding : result.findings) {
    EXPECT_EQ(finding.what.find('\n'), std::string::npos) << finding.what;
    lines += finding.what + "\n";
  }
  return lines;
}

}  // namespace lockstep::audit
