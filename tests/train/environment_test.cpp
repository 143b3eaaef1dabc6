#include "lockstep/train/environment.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "lockstep/core/file_system.h"
#include "support/temporary_folder.h"

namespace lockstep::train {
namespace {

using fingerprint::Fingerprint;

// Of a GPU and of a CPU with LibTorch's kernels for both.
const Fingerprint kGpu = {{"device", "a GPU"},         {"driver", "580.65"},
                          {"libtorch", "2.11.0"},      {"cuda", "13.0"},
                          {"cudnn", "9.15"},           {"cublas", "13.1"},
                          {"mkl", "2024.2"},           {"onednn", "3.10"},
                          {"native.conv2d", "abc123"}, {"portable.gemm", "def456"}};

class OtherNativeBits : public ::testing::Test {
 protected:
  // After an attempt on a machine with these facts, of those that one fact is changed in.
  std::optional<std::string> after(Fingerprint facts, const std::string& name,
                                   const std::string& value) {
    FileSystem& fs = real_file_system();
    const RunFolder folder(folder_.path() / std::to_string(++count_));
    make_folder(fs, folder.root);
    write_environments(fs, folder, {fingerprint::to_json(facts)});
    for (auto& [key, was] : facts)
      if (key == name) was = value;
    return other_native_bits(fs, folder, {facts});
  }

 private:
  testing::TemporaryFolder folder_;
  int count_ = 0;
};

Fingerprint on_cpu() {
  Fingerprint facts = kGpu;
  for (auto& [name, value] : facts)
    if (name == "device") value = "cpu";
  return facts;
}

TEST_F(OtherNativeBits, OfAGpuComeFromItsLibraries) {
  for (const char* const library : {"libtorch", "cuda", "cudnn", "cublas"})
    EXPECT_EQ(after(kGpu, library, "0.0"), "it was trained last with " + std::string(library) +
                                               " " + fingerprint::fact(kGpu, library) +
                                               ", and this has 0.0");
  for (const char* const other : {"mkl", "onednn", "driver", "portable.gemm"})
    EXPECT_EQ(after(kGpu, other, "0.0"), std::nullopt) << other;
}

TEST_F(OtherNativeBits, OfACpuComeFromItsLibraries) {
  for (const char* const library : {"libtorch", "mkl", "onednn"})
    EXPECT_NE(after(on_cpu(), library, "0.0"), std::nullopt) << library;
  for (const char* const other : {"cuda", "cudnn", "cublas", "driver", "portable.gemm"})
    EXPECT_EQ(after(on_cpu(), other, "0.0"), std::nullopt) << other;
}

TEST_F(OtherNativeBits, OfAnotherDeviceAreOther) {
  EXPECT_EQ(after(kGpu, "device", "cpu"), "it was trained last on a GPU, and this is cpu");
  EXPECT_EQ(after(kGpu, "device", "another GPU"),
            "it was trained last on a GPU, and this is another GPU");
}

TEST_F(OtherNativeBits, OfAKernelAreNamed) {
  EXPECT_EQ(after(kGpu, "native.conv2d", "fff"),
            "conv2d gives other bits here than where it was trained last");
  EXPECT_EQ(after(kGpu, "nothing", "else"), std::nullopt);
}

}  // namespace
}  // namespace lockstep::train
