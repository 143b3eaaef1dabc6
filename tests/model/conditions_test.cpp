// What classes add to networks: tensors and values.
#include "lockstep/core/error.h"
#include "model/conditional.h"

namespace lockstep::model {
namespace {

using namespace testing;  // NOLINT

class Conditions : public ::testing::TestWithParam<std::string> {
 protected:
  std::string kind() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Kinds, Conditions, ::testing::ValuesIn(kinds()), [](const auto& kind) {
  std::string name = kind.param;
  std::erase(name, '-');
  return name;
});

using Places = std::vector<std::string>;

Places places(const std::vector<NamedTensor>& tensors) {
  Places list;
  for (const NamedTensor& t : tensors) {
    list.push_back(t.path);
    for (const std::int64_t size : t.tensor.sizes()) list.back() += " " + std::to_string(size);
  }
  return list;
}

struct Added {
  std::string before;  // the path after which the weight comes; empty: it is the last
  std::int64_t width;
  bool spectral;
};
const std::map<std::string, Added> kAdded = {
    {"unet", {"time2.bias 6", 6, false}},        {"dit", {"time2.bias 6", 6, false}},
    {"mlp-generator", {"", kHidden, false}},     {"mlp-discriminator", {"", kHidden, true}},
    {"dcgan-generator", {"", 2 * 2 * 6, false}}, {"dcgan-discriminator", {"", 2 * 2 * 6, false}},
    {"sngan-generator", {"", 4 * 4 * 6, false}}, {"sngan-discriminator", {"", 4 * 4 * 6, true}},
};

TEST_P(Conditions, AddOneLayer) {
  const auto with = make_network(options_of(kind()), kPicture, kClasses),
             without = make_network(options_of(kind()), kPicture);
  const Added& added = kAdded.at(kind());
  Places parameters = places(without->parameters_in_order());
  const auto place =
      added.before.empty() ? parameters.end() : std::ranges::find(parameters, added.before) + 1;
  parameters.insert(place, "classes.weight 3 " + std::to_string(added.width));
  EXPECT_EQ(places(with->parameters_in_order()), parameters);
  Places buffers = places(without->buffers_in_order());
  if (added.spectral) {
    buffers.push_back("classes.u 3");
    buffers.push_back("classes.v " + std::to_string(added.width));
  }
  EXPECT_EQ(places(with->buffers_in_order()), buffers);
  EXPECT_EQ(with->forward_flops() - without->forward_flops(),
            2.0 * static_cast<double>(kClasses * added.width));
}

TEST_P(Conditions, MoveNoFirstValueOfAnotherTensor) {
  const auto with = make_network(options_of(kind()), kPicture, kClasses),
             without = make_network(options_of(kind()), kPicture);
  with->initialize(5, "role");
  without->initialize(5, "role");
  const auto values = tensors_of(*with);
  for (const auto& [path, tensor] : tensors_of(*without))
    EXPECT_TRUE(same_bits(tensor, values.at(path))) << path;
  const Tensor classes = values.at("classes.weight");
  EXPECT_FALSE(same_bits(classes, ops::filled(classes.sizes(), 0.0F)));
  // Normals of deviation 0.02 or uniform in (-1, 1) / sqrt(3): the mean square tells them apart.
  double square = 0;
  for (const float v : ops::HostView(classes).floats())
    square += double{v} * double{v} / static_cast<double>(classes.numel());
  if (kind().starts_with("dcgan-") || kind() == "sngan-generator") {
    EXPECT_LT(square, 1e-3);
  } else {
    EXPECT_GT(square, 0.03);
  }
}

TEST_P(Conditions, ThatAreAllZeroChangeNothing) {
  const auto network = conditional(kind());
  const Tensor x = input_of(*network, 4);
  EXPECT_TRUE(same_bits(evaluated(*network, x, one_hot({-1, -1, -1, -1})),
                        evaluated(*without_classes(kind(), *network), x, {})));
}

TEST_P(Conditions, ActOnTheirOwnSample) {
  const auto network = conditional(kind());
  const Tensor x = input_of(*network, 4);
  const Tensor before = evaluated(*network, x, one_hot({0, 1, 2, -1})),
               after = evaluated(*network, x, one_hot({0, 2, 2, 1}));
  for (const std::int64_t i : {0, 1, 2, 3}) {
    EXPECT_EQ(same_bits(before.narrow(0, i, 1), after.narrow(0, i, 1)), i == 0 || i == 2) << i;
  }
}

TEST_P(Conditions, AreGivenWhereDataHaveClassesAndNowhereElse) {
  const auto network = conditional(kind());
  const Tensor x = input_of(*network, 2);
  const auto code = [&](Network& asked, const Tensor& condition) {
    try {
      evaluated(asked, x, condition);
    } catch (const Error& e) {
      return e.code();
    }
    return Code::kUsage;
  };
  EXPECT_EQ(code(*network, {}), Code::kBug);
  EXPECT_EQ(code(*without_classes(kind(), *network), one_hot({0, 1})), Code::kBug);
}

const std::vector<std::int64_t> kLabels = {2, 0, 1, 2, -1, 0};

void fill(Tensor tensor, float value) {
  tensor.detach().copy_(ops::filled(tensor.sizes(), value));
}

// A class's row is added where a wider latent would add it: in one chain of products after those of
// the latent. So a generator without classes whose latent has the condition at its end gives the
// same bits; a bias would come in between and is zero here.
TEST(ConditionsOfGenerators, AreLikeMoreLatents) {
  for (const std::string& kind : kinds_of(NetworkType::kGenerator)) {
    const auto network = conditional(kind);
    const auto values = tensors_of(*network);
    const bool perceptron = kind == "mlp-generator";
    if (perceptron) fill(values.at("hidden0.bias"), 0.0F);
    const auto wide = make_network(options_of(kind, kLatent + kClasses), kPicture);
    const std::string first = perceptron ? "hidden0.weight" : "project.weight";
    for (auto& [path, tensor] : tensors_of(*wide)) {
      if (path != first) {
        Tensor(tensor).copy_(values.at(path));
        continue;
      }
      tensor.narrow(0, 0, kLatent).copy_(values.at(first));
      tensor.narrow(0, kLatent, kClasses).copy_(values.at("classes.weight"));
    }
    const Tensor z = input_of(*network, 6), y = one_hot(kLabels);
    EXPECT_TRUE(
        same_bits(evaluated(*network, z, y), evaluated(*wide, ops::concat_channels(z, y), {})))
        << kind;
  }
}

// The row of a class moves time2's bias, which is zero here.
class ConditionsOfDenoisers : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Kinds, ConditionsOfDenoisers, ::testing::Values("unet", "dit"));
TEST_P(ConditionsOfDenoisers, AreLikeABiasOfTheTimeEmbedding) {
  const auto network = conditional(GetParam());
  const auto values = tensors_of(*network);
  fill(values.at("time2.bias"), 0.0F);
  const auto plain = without_classes(GetParam(), *network);
  const Tensor x = input_of(*network, 6), y = evaluated(*network, x, one_hot(kLabels));
  for (std::size_t i = 0; i < kLabels.size(); ++i) {
    if (kLabels[i] < 0) continue;
    Tensor bias = tensors_of(*plain).at("time2.bias");
    bias.copy_(values.at("classes.weight").select(0, kLabels[i]));
    const auto one = static_cast<std::int64_t>(i);
    EXPECT_TRUE(same_bits(y.narrow(0, one, 1), evaluated(*plain, x.narrow(0, one, 1), {}))) << i;
  }
}

// A spectral layer's weight as it is: with one 1 in each vector sigma is that element, 1.
void make_plain(const std::map<std::string, Tensor>& values, const std::string& layer) {
  Tensor weight = values.at(layer + ".weight");
  if (!values.contains(layer + ".u")) return;
  for (std::int64_t i = 0; i < weight.size(0); ++i) ops::write(weight)[i * weight.size(1)] = 1.0F;
  for (const char* vector : {".u", ".v"}) {
    Tensor unit = values.at(layer + vector);
    fill(unit, 0.0F);
    ops::write(unit)[0] = 1.0F;
  }
}

// The dot with a class's row is the output of a layer that has this row as its weight, and no bias.
TEST(ConditionsOfDiscriminators, AddTheDotOfTheRowAndTheClass) {
  for (const std::string& kind : kinds_of(NetworkType::kDiscriminator)) {
    const auto network = conditional(kind);
    const auto values = tensors_of(*network);
    Tensor output = values.at("output.weight");
    const std::int64_t width = output.size(0);
    make_plain(values, "classes");
    make_plain(values, "output");
    for (std::int64_t i = 1; i < width; ++i) ops::write(output)[i] = 0.25F * static_cast<float>(i);
    const auto plain = without_classes(kind, *network);
    const Tensor x = input_of(*network, 6), logits = evaluated(*network, x, one_hot(kLabels)),
                 own = evaluated(*plain, x, {});
    const auto changed = tensors_of(*plain);
    fill(changed.at("output.bias"), 0.0F);
    for (std::size_t i = 0; i < kLabels.size(); ++i) {
      if (kLabels[i] < 0) continue;
      Tensor row = changed.at("output.weight").view({width});
      row.copy_(values.at("classes.weight").select(0, kLabels[i]));
      const float dot = ops::read(evaluated(*plain, x, {}))[i];
      EXPECT_EQ(ops::read(logits)[i], ops::read(own)[i] + dot) << kind << ", " << i;
      EXPECT_GT(std::abs(dot), 0.0F);
    }
  }
}

}  // namespace
}  // namespace lockstep::model
