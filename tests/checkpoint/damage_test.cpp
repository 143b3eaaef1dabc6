// A checkpoint with any damage is refused, in one line that says where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>

#include "checkpoint/some_checkpoint.h"
#include "lockstep/core/error.h"
#include "lockstep/hash/merkle.h"
#include "lockstep/hdf5/canonical.h"
#include "support/faulty_file_system.h"
#include "support/temporary_folder.h"

namespace lockstep::checkpoint {
namespace {

using namespace lockstep::checkpoint::testing;
using lockstep::testing::TemporaryFolder;
using ::testing::HasSubstr;

const Step kStep{500};

FileSystem& fs() {
  return real_file_system();
}

// One published checkpoint; copies of it are damaged in memory and written elsewhere.
struct Whole {
  Bytes file, sidecar;
  std::vector<hdf5::DatasetSpec> specs;
  std::vector<hdf5::Extent> extents;
};
const Whole& whole() {
  static const Whole instance = [] {
    const TemporaryFolder folder;
    const state::State state = some_state(kStep);
    publish(fs(), folder.path(), some_meta(state), state);
    Whole all;
    all.file = read_file(fs(), folder.path() / file_name(kStep));
    all.sidecar = read_file(fs(), folder.path() / (file_name(kStep) + ".sha256"));
    const hdf5::Reader reader(all.file, "whole");
    all.specs = reader.datasets();
    all.extents = reader.extents();
    return all;
  }();
  return instance;
}

// What load says: kCorrupt, or nothing was thrown and an empty text.
std::string said(const Bytes& file, const Bytes* sidecar) {
  const TemporaryFolder folder;
  const auto path = folder.path() / file_name(kStep);
  fs().create_new(path)->append(file);
  if (sidecar) fs().create_new(path.string() + ".sha256")->append(*sidecar);
  try {
    load(fs(), path);
  } catch (const Error& error) {
    if (error.code() != Code::kCorrupt)
      return "code " + std::to_string(static_cast<int>(error.code()));
    const std::string line = error.what();
    return line.find('\n') == std::string::npos ? line : "more than one line";
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Load, AcceptsTheUndamaged) {
  EXPECT_EQ(said(whole().file, &whole().sidecar), "");
}

RC_GTEST_PROP(Load, RefusesAnyChangedByteOfTheFileAndNamesThePlace, ()) {
  Bytes file = whole().file;
  const auto at = *rc::gen::oneOf(rc::gen::inRange<std::size_t>(0, file.size()),
                                  rc::gen::inRange<std::size_t>(0, 8192));
  file[at] ^= std::byte(*rc::gen::inRange(1, 256));
  const std::string line = said(file, &whole().sidecar);
  RC_ASSERT(contains(line, "step-00000500.h5, bytes "));
  // Of all tensors in its block the first four are named, and the rest counted.
  const std::uint64_t begin = at / hash::kBlockBytes * hash::kBlockBytes;
  std::map<std::uint64_t, std::string> there;
  for (std::size_t i = 0; i < whole().extents.size(); ++i) {
    const hdf5::Extent& extent = whole().extents[i];
    if (extent.offset < begin + hash::kBlockBytes && begin < extent.offset + extent.bytes)
      there[extent.offset] = whole().specs[i].path;
  }
  std::size_t named = 0;
  for (const auto& [offset, path] : there)
    if (named++ < 4) RC_ASSERT(contains(line, path));
  if (there.size() > 4)
    RC_ASSERT(contains(line, " and " + std::to_string(there.size() - 4) + " more)"));
}

RC_GTEST_PROP(Load, RefusesAnyChangedByteOfTheSidecarAndBlamesIt, ()) {
  Bytes sidecar = whole().sidecar;
  const auto at = *rc::gen::inRange<std::size_t>(0, sidecar.size());
  sidecar[at] ^= std::byte(*rc::gen::inRange(1, 256));
  RC_ASSERT(contains(said(whole().file, &sidecar), "step-00000500.h5.sha256"));
}

RC_GTEST_PROP(Load, RefusesTruncatedAndExtendedFiles, ()) {
  Bytes file = whole().file, sidecar = whole().sidecar;
  file.resize(*rc::gen::inRange<std::size_t>(0, file.size()));
  const std::string cut = said(file, &sidecar);
  RC_ASSERT(contains(cut, "step-00000500.h5"));
  RC_ASSERT(contains(cut, "cut off") || contains(cut, "differ"));
  sidecar.resize(*rc::gen::inRange<std::size_t>(0, sidecar.size()));
  RC_ASSERT(contains(said(whole().file, &sidecar), "step-00000500.h5.sha256"));
  Bytes longer = whole().file;
  longer.resize(longer.size() + *rc::gen::inRange<std::size_t>(1, 5000));
  RC_ASSERT(contains(said(longer, &whole().sidecar), "appended"));
}

TEST(Load, RefusesWithoutItsSidecar) {
  EXPECT_THAT(said(whole().file, nullptr), HasSubstr("step-00000500.h5.sha256 is missing"));
}

// A file whose sidecar was made to fit it: the hashes hold, so the reader must refuse.
TEST(Load, RefusesAForeignFileWithASidecarThatFits) {
  const auto with_sidecar = [](const Bytes& file) {
    const std::string text =
        format_sidecar(make_sidecar(file.size(), hash::block_digests(file), {}));
    const ByteView bytes = as_bytes(text);
    return Bytes(bytes.begin(), bytes.end());
  };
  Bytes noise(100'000, std::byte(7));
  Bytes sidecar = with_sidecar(noise);
  EXPECT_THAT(said(noise, &sidecar), HasSubstr("step-00000500.h5"));
  // A canonical HDF5 file that is no checkpoint.
  const TemporaryFolder folder;
  const std::vector<hdf5::DatasetSpec> specs{{"/images", hdf5::Type::kU8, {3}}};
  const Bytes data(3);
  hdf5::publish(fs(), folder.path() / "other.h5",
                hdf5::make_skeleton(specs, std::vector<hdf5::Attribute>{{"format", "pack"}}),
                std::vector<ByteView>{data});
  const Bytes other = read_file(fs(), folder.path() / "other.h5");
  sidecar = with_sidecar(other);
  EXPECT_THAT(said(other, &sidecar), HasSubstr("not a checkpoint"));
}

// Written and hashed as ours are, with one part more.
TEST(Load, RefusesWhatNoCheckpointHas) {
  const TemporaryFolder folder;
  const state::State state = some_state(kStep);
  const Meta meta = some_meta(state);
  for (const int more : {0, 1}) {
    std::vector<hdf5::DatasetSpec> specs{
        {"/recipe", hdf5::Type::kU8, {static_cast<std::int64_t>(meta.recipe_text.size())}},
        {"/sample_shape", hdf5::Type::kI64, {static_cast<std::int64_t>(meta.sample_shape.size())}}};
    std::vector<ByteView> contents{as_bytes(meta.recipe_text),
                                   std::as_bytes(std::span(meta.sample_shape))};
    const Bytes extra(3);
    if (more == 1) {
      specs.push_back({"/notes", hdf5::Type::kU8, {3}});
      contents.push_back(extra);
    }
    std::vector<hdf5::Attribute> attributes{{"format", std::string("lockstep checkpoint 1")},
                                            {"recipe", meta.recipe.hex()},
                                            {"data", meta.data.hex()},
                                            {"semantics", meta.semantics},
                                            {"step", state.step.value},
                                            {"samples", state.samples},
                                            {"chain", meta.chain.hex()},
                                            {"state", meta.state.hex()}};
    const std::string name = "made-" + std::to_string(more) + ".h5";
    hdf5::publish(fs(), folder.path() / name, hdf5::make_skeleton(specs, attributes), contents);
    const Bytes made = read_file(fs(), folder.path() / name);
    const std::string text =
        format_sidecar(make_sidecar(made.size(), hash::block_digests(made), {}));
    Bytes sidecar(as_bytes(text).begin(), as_bytes(text).end());
    const std::string line = said(made, &sidecar);
    if (more == 0)
      EXPECT_EQ(line, "");
    else
      EXPECT_THAT(line, HasSubstr("unexpected data set /notes"));
  }
}

TEST(Load, OfNothingIsAUsageError) {
  const TemporaryFolder folder;
  try {
    load(fs(), folder.path() / file_name(kStep));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
  }
}

// Written and hashed as ours are, with numbers that no run has.
TEST(Load, RefusesNumbersThatNoRunHas) {
  const auto said_of = [](const std::vector<std::int64_t>& sample_shape, std::int64_t samples) {
    const TemporaryFolder folder;
    state::State state = some_state(kStep);
    state.samples = samples;
    Meta meta = some_meta(state);
    meta.sample_shape = sample_shape;
    publish(fs(), folder.path(), meta, state);
    return said(read_file(fs(), folder.path() / file_name(kStep)), [&] {
      static Bytes sidecar;
      sidecar = read_file(fs(), folder.path() / (file_name(kStep) + ".sha256"));
      return &sidecar;
    }());
  };
  EXPECT_EQ(said_of({28, 28, 1}, 0), "");
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{-1, 28, 1}, {28, 0, 1}, {65536, 1, 1}, {65535, 65535, 3}}) {
    EXPECT_THAT(said_of(shape, 0), HasSubstr("step-00000500.h5: an impossible shape"));
  }
  EXPECT_THAT(said_of({28, 28, 1}, -1), HasSubstr("step-00000500.h5: a negative"));
}

// As retention does it, at every call of a reader.
TEST(Retired, IsNothingAndNoDamage) {
  int nothing = 0;
  for (int at = 1;; ++at) {
    const TemporaryFolder folder;
    const state::State state = some_state(kStep);
    publish(fs(), folder.path(), some_meta(state), state);
    const auto path = folder.path() / file_name(kStep);
    lockstep::testing::FaultyFileSystem live(fs(), at);
    live.meanwhile([&] {
      for (const char* end : {"", ".sha256"}) fs().remove(path.string() + end);
    });
    const std::optional<Loaded> loaded = load_if_there(live, path);
    if (!live.failed()) {
      EXPECT_TRUE(loaded);
      break;
    }
    if (loaded) continue;  // it was open by then
    ++nothing;
    EXPECT_FALSE(fs().exists(path));
    EXPECT_FALSE(load_if_there(fs(), path));
  }
  EXPECT_GT(nothing, 3);
}

}  // namespace
}  // namespace lockstep::checkpoint
