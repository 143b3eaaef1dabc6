// The interpreter does what PTX says, and names what a GPU would not forgive.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "support/ptx/grid.h"
#include "support/ptx/memory.h"

namespace lockstep::test::ptx {
namespace {

// A kernel `k` of one pointer, with registers for all tests; in and out are the same memory.
std::string kernel(const std::string& body, const std::string& more = "") {
  return ".version 9.0\n.target sm_80\n.address_size 64\n"
         ".extern .shared .align 16 .b8 memory[];\n" +
         more +
         ".visible .entry k(\n\t.param .u64 k_param_0\n)\n.maxntid 64, 1, 1\n{\n"
         ".reg .pred %p<9>;\n.reg .b16 %rs<9>;\n.reg .b32 %r<19>;\n.reg .f32 %f<9>;\n"
         ".reg .b64 %rd<9>;\n"
         "ld.param.u64 %rd1, [k_param_0];\ncvta.to.global.u64 %rd2, %rd1;\n"
         "mov.u32 %r1, %tid.x;\nmul.wide.s32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd2, %rd3;\n" +
         body + "ret;\n}\n";
}

// out[i] of thread i, from out[i] = i.
std::vector<std::uint32_t> run(const std::string& text, std::uint32_t threads = 64,
                               std::uint32_t blocks = 1, std::size_t shared = 4096) {
  std::vector<std::uint32_t> out(threads);
  for (std::uint32_t i = 0; i < threads; ++i) out[i] = i;
  memory().add(out.data(), out.size() * 4);
  Module module(text);
  const void* const pointer = out.data();
  const void* const arguments[] = {&pointer};
  run_grid(module.function("k"), arguments, blocks, threads, shared, 1);
  memory().remove(out.data());
  return out;
}

TEST(Ptx, LanesThatPartMeetAgain) {
  // Odd threads go round a loop as often as they are large; all add 100 afterwards.
  const auto out = run(
      kernel("mov.u32 %r3, 0;\nand.b32 %r2, %r1, 1;\nsetp.eq.s32 %p1, %r2, 0;\n@%p1 bra $L_end;\n"
             "$L_loop:\nadd.s32 %r3, %r3, 2;\nshl.b32 %r4, %r1, 1;\nsetp.lt.s32 %p2, %r3, %r4;\n"
             "@%p2 bra $L_loop;\n"
             "$L_end:\nadd.s32 %r3, %r3, 100;\nshfl.sync.down.b32 %r5|%p3, %r3, 1, 31, -1;\n"
             "st.global.u32 [%rd4], %r5;\n"));
  for (std::uint32_t i = 0; i < 64; ++i) {
    const std::uint32_t other = i % 32 == 31 ? i : i + 1;
    EXPECT_EQ(out[i], 100 + (other % 2 == 1 ? 2 * other : 0)) << i;
  }
}

TEST(Ptx, FunctionsAreCalledBySomeLanes) {
  const auto out = run(kernel(
      "setp.gt.s32 %p1, %r1, 40;\n@!%p1 bra $L_end;\n"
      "{ // callseq\n.param .b32 param0;\nst.param.b32 [param0+0], %r1;\n.param .b32 retval0;\n"
      "call.uni (retval0), \ntwice, \n(\nparam0\n);\nld.param.b32 %r2, [retval0+0];\n}\n"
      "st.global.u32 [%rd4], %r2;\n$L_end:\n",
      ".func (.param .b32 func_retval0) twice(\n\t.param .b32 twice_param_0\n)\n{\n.reg .b32 "
      "%r<3>;\n"
      "ld.param.u32 %r1, [twice_param_0];\nshl.b32 %r2, %r1, 1;\n"
      "st.param.b32 [func_retval0+0], %r2;\nret;\n}\n"));
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i > 40 ? 2 * i : i);
}

TEST(Ptx, TablesAreRead) {
  const auto out = run(
      kernel("mov.u64 %rd5, words;\nand.b32 %r2, %r1, 1;\nmul.wide.s32 %rd6, %r2, 4;\n"
             "add.s64 %rd7, %rd5, %rd6;\nld.global.nc.u32 %r3, [%rd7+4];\n"
             "st.global.u32 [%rd4], %r3;\n",
             ".global .align 4 .b8 words[12] = {1, 0, 0, 0, 2, 1, 0, 0, 255, 255, 255, 255};\n"));
  EXPECT_EQ(out[0], 258U);
  EXPECT_EQ(out[1], 0xffffffffU);
}

struct Case {
  const char* instruction;  // of %r2 and %r3, or %f2 and %f3, to %r4 or %f4
  std::uint32_t a, b, result;
};

TEST(Ptx, InstructionsDoWhatPtxSays) {
  constexpr std::uint32_t kNan = 0x7fffffff;
  const std::vector<Case> cases = {
      {"add.rn.f32 %f4, %f2, %f3", 0x7fc00001, 0x3f800000, kNan},  // no payload
      {"fma.rn.f32 %f4, %f2, %f3, %f3", 0xff800000, 0x00000000, kNan},
      {"mul.rn.f32 %f4, %f2, %f3", 0x00800000, 0x3f000000, 0x00400000},  // subnormal
      {"div.rn.f32 %f4, %f2, %f3", 0x3f800000, 0x40400000, 0x3eaaaaab},
      {"min.f32 %f4, %f2, %f3", 0x7fc00000, 0xbf800000, 0xbf800000},
      {"min.f32 %f4, %f2, %f3", 0x00000000, 0x80000000, 0x80000000},
      {"max.f32 %f4, %f2, %f3", 0x80000000, 0x00000000, 0x00000000},
      {"copysign.f32 %f4, %f2, %f3", 0xbf800000, 0x40000000, 0xc0000000},
      {"cvt.rzi.s32.f32 %r4, %f2", 0x4f800000, 0, 0x7fffffff},
      {"cvt.rzi.s32.f32 %r4, %f2", 0xbfc00000, 0, 0xffffffff},
      {"shl.b32 %r4, %r2, %r3", 1, 32, 0},
      {"shr.s32 %r4, %r2, %r3", 0x80000000, 40, 0xffffffff},
      {"shr.u32 %r4, %r2, %r3", 0x80000000, 31, 1},
      {"mul.hi.s32 %r4, %r2, %r3", static_cast<std::uint32_t>(-7), 0x40000000, 0xfffffffe},
      {"prmt.b32 %r4, %r2, %r3, 4180", 0x33221100, 0x77665544, 0x11005544},  // 0x1054
      {"bfi.b32 %r4, %r2, %r3, 4, 28", 0x01234567, 0xf, 0x1234567f},
      {"div.s32 %r4, %r2, %r3", static_cast<std::uint32_t>(-7), 2, static_cast<std::uint32_t>(-3)},
      {"rem.s32 %r4, %r2, %r3", static_cast<std::uint32_t>(-7), 2, static_cast<std::uint32_t>(-1)},
  };
  for (const Case& c : cases) {
    const std::string type =
        std::string(c.instruction).find("%f4") == std::string::npos ? "r" : "f";
    const auto out = run(kernel("mov.u32 %r2, " + std::to_string(c.a) + ";\nmov.u32 %r3, " +
                                std::to_string(c.b) + ";\nmov.b32 %f2, %r2;\nmov.b32 %f3, %r3;\n" +
                                c.instruction + ";\nst.global.b32 [%rd4], %" + type + "4;\n"));
    EXPECT_EQ(out[5], c.result) << c.instruction << std::hex << " gives " << out[5];
  }
}

TEST(Ptx, ComparisonsKnowNan) {
  const std::array<std::pair<const char*, bool>, 8> cases = {{{"eq", false},
                                                              {"ne", false},
                                                              {"neu", true},
                                                              {"lt", false},
                                                              {"ltu", true},
                                                              {"geu", true},
                                                              {"num", false},
                                                              {"nan", true}}};
  for (const auto& [word, holds] : cases) {
    const auto out =
        run(kernel("mov.f32 %f2, 0f7FC00000;\nmov.f32 %f3, 0f3F800000;\nsetp." + std::string(word) +
                   ".f32 %p1, %f2, %f3;\nselp.b32 %r2, 1, 0, %p1;\nst.global.u32 [%rd4], %r2;\n"));
    EXPECT_EQ(out[0] == 1, holds) << word;
  }
}

// Each thread writes its number to shared memory at 1024 + 4 * its number.
constexpr const char* kWrites =
    "shl.b32 %r2, %r1, 2;\nmov.u32 %r3, memory;\nadd.s32 %r4, %r3, %r2;\nst.shared.u32 [%r4], "
    "%r1;\n";
// It reads the place of the thread 32 before or behind it.
constexpr const char* kReads =
    "xor.b32 %r5, %r2, 128;\nadd.s32 %r6, %r3, %r5;\nld.shared.u32 %r7, [%r6];\nst.global.u32 "
    "[%rd4], %r7;\n";

TEST(Ptx, ABarrierOrdersSharedMemory) {
  const auto out = run(kernel(std::string(kWrites) + "bar.sync 0;\n" + kReads));
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i ^ 32U);
}

TEST(Ptx, CopiesArriveAtTheirWait) {
  const std::string copies =
      "shl.b32 %r2, %r1, 4;\nmov.u32 %r3, memory;\nadd.s32 %r4, %r3, %r2;\nand.b32 %r8, %r1, 3;\n"
      "mul.wide.s32 %rd5, %r8, 16;\nadd.s64 %rd6, %rd2, %rd5;\nsetp.eq.s32 %p1, %r8, 3;\nselp.b32 "
      "%r9, 0, 16, %p1;\n"
      "cp.async.cg.shared.global [%r4], [%rd6], 16, %r9;\ncp.async.commit_group;\n";
  const std::string reads = "ld.shared.u32 %r7, [%r4+4];\nst.global.u32 [%rd4], %r7;\n";
  const auto out = run(kernel(copies + "cp.async.wait_group 0;\nbar.sync 0;\n" + reads));
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i % 4 == 3 ? 0 : i % 4 * 4 + 1) << i;
  // One group may still be on its way, but not when its thread ends.
  const std::string early = copies + "cp.async.wait_group 1;\nbar.sync 0;\n" + reads;
  EXPECT_EQ(run(kernel(early + "bar.sync 0;\ncp.async.wait_group 0;\n"))[0], 0xffffffffU);
  EXPECT_DEATH(run(kernel(early)), "a thread ends before its asynchronous copies have");
}

using PtxDeathTest = testing::Test;

TEST(PtxDeathTest, ARaceIsNamed) {
  EXPECT_DEATH(run(kernel(std::string(kWrites) + kReads)), "threads race for byte");
  // In one warp, too: lanes need not go on together.
  const std::string neighbours =
      "xor.b32 %r5, %r2, 4;\nadd.s32 %r6, %r3, %r5;\nld.shared.u32 %r7, [%r6];\n";
  EXPECT_DEATH(run(kernel(kWrites + neighbours)), "threads race for byte");
  // A shuffle brings them together, and says nothing of memory.
  EXPECT_DEATH(run(kernel(kWrites + std::string("shfl.sync.down.b32 %r8|%p3, %r1, 1, 31, -1;\n") +
                          neighbours)),
               "threads race for byte");
  // A barrier before the memory is used again is needed as well.
  EXPECT_DEATH(
      run(kernel(std::string(kWrites) + "bar.sync 0;\n" + kReads + "st.shared.u32 [%r4], %r1;\n")),
      "threads race for byte");
}

// Each thread writes its number to global memory; it reads that of another warp.
constexpr const char* kWritesGlobal = "st.global.u32 [%rd4], %r1;\n";
constexpr const char* kReadsGlobal =
    "xor.b32 %r5, %r1, 32;\nmul.wide.s32 %rd5, %r5, 4;\nadd.s64 %rd6, %rd2, %rd5;\n"
    "ld.global.u32 %r7, [%rd6];\n";

TEST(Ptx, ABarrierOrdersGlobalMemory) {
  const auto out = run(kernel(std::string(kWritesGlobal) + "bar.sync 0;\n" + kReadsGlobal +
                              "bar.sync 0;\nst.global.u32 [%rd4], %r7;\n"));
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i ^ 32U);
  // All blocks may read a word; and launches are one after the other.
  run(kernel(kReadsGlobal), 64, 3);
  run(kernel(kWritesGlobal));
  // Threads of a block may write the same.
  EXPECT_EQ(run(kernel("mov.u32 %r5, 7;\nst.global.u32 [%rd2], %r5;\n"))[0], 7U);
}

TEST(PtxDeathTest, ARaceForGlobalMemoryIsNamed) {
  const std::string writes = kWritesGlobal, reads = kReadsGlobal, barrier = "bar.sync 0;\n";
  EXPECT_DEATH(run(kernel(writes + reads)), "a race for global memory");
  EXPECT_DEATH(run(kernel(reads + writes)), "a race for global memory");
  EXPECT_DEATH(run(kernel("st.global.u32 [%rd2], %r1;\n")), "a race for global memory");
  const std::string same = "mov.u32 %r5, 7;\nst.global.u32 [%rd2], %r5;\n";
  EXPECT_DEATH(run(kernel(same), 64, 2), "a race for global memory");
  EXPECT_DEATH(run(kernel(same + "st.global.u32 [%rd2], %r1;\n")), "a race for global memory");
  // Nothing orders blocks: one writes what another has written, or read.
  EXPECT_DEATH(run(kernel(writes), 64, 2), "a race for global memory");
  EXPECT_DEATH(run(kernel(reads + barrier + writes), 64, 2), "a race for global memory");
  // Block 1 reads what block 0 has written.
  EXPECT_DEATH(run(kernel("mov.u32 %r2, %ctaid.x;\nsetp.eq.s32 %p1, %r2, 1;\n@%p1 bra $L_read;\n" +
                          writes + "bra.uni $L_end;\n$L_read:\n" + reads + "$L_end:\n"),
                   64, 2),
               "a race for global memory");
}

TEST(PtxDeathTest, ThreadsThatDoNotArriveAreNamed) {
  const std::string part = "and.b32 %r2, %r1, 1;\nsetp.eq.s32 %p1, %r2, 0;\n@%p1 bra $L_end;\n";
  EXPECT_DEATH(run(kernel(part + "bar.sync 0;\n$L_end:\n")), "not all threads of a warp reach");
  EXPECT_DEATH(run(kernel(part + "shfl.sync.down.b32 %r5|%p3, %r1, 1, 31, -1;\n$L_end:\n")),
               "not all threads of a warp reach");
  const std::string warps = "setp.gt.s32 %p1, %r1, 31;\n@%p1 bra $L_end;\n";
  EXPECT_DEATH(run(kernel(warps + "bar.sync 0;\n$L_end:\n")),
               "a barrier that not all threads of the block reach");
}

TEST(PtxDeathTest, MemoryOfNobodyIsNamed) {
  EXPECT_DEATH(run(kernel("st.global.u32 [%rd4+4], %r1;\n")), "outside of what was allocated");
  EXPECT_DEATH(run(kernel("st.global.u32 [%rd4+2], %r1;\n")), "not aligned");
  EXPECT_DEATH(run(kernel("ld.global.v2.u32 {%r2, %r3}, [%rd4];\n")), "not aligned");
  EXPECT_DEATH(run(kernel(kWrites), 64, 1, 128), "byte 128 of shared memory, which has 128");
}

TEST(PtxDeathTest, WhatIsNotKnownIsNamed) {
  EXPECT_DEATH(run(kernel("ex2.approx.f32 %f2, %f3;\n")),
               "an instruction that is not known: ex2.approx.f32");
  EXPECT_DEATH(run(kernel("add.s32 %r2, %rd2, 1;\n")), "wider or narrower");
  EXPECT_DEATH(run(kernel(""), 96), "more threads than its kernel has registers for");
}

}  // namespace
}  // namespace lockstep::test::ptx
