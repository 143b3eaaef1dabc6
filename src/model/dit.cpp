// Diffusion transformer with adaLN-Zero (Peebles & Xie 2023): patches of a noisy picture are
// tokens; time and class choose each sample's shifts, scales and gates. Tokens have the fixed
// sine-cosine positions of Vaswani et al. 2017, in two dimensions.
#include "lockstep/model/dit.h"

#include <span>
#include <string>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/model/layers.h"
#include "lockstep/model/time_embedding.h"
#include "lockstep/ops/device.h"
#include "model/kinds.h"
#include "model/time_conditioned.h"

namespace lockstep::model {

namespace {

constexpr float kNormEps = 1e-6F;

// x + gate(e) * out(inside(norm(x))), the norm modulated by e: the identity at first.
class Branch : public Layer {
 public:
  static constexpr int kEmbeddings = 2;  // uses of e

  Branch(std::int64_t in, std::int64_t inside, std::int64_t out, const DitOptions& o) {
    modulation_ = register_module(
        "modulation",
        std::make_shared<Linear>(o.embedding, 2 * o.width, Weights{InitScheme::kZero}));
    in_ = register_module("in", std::make_shared<Linear>(in, inside));
    out_ = register_module("out", std::make_shared<Linear>(out, o.width));
    gate_ = register_module(
        "gate", std::make_shared<Linear>(o.embedding, o.width, Weights{InitScheme::kZero}));
  }

  // x [N, tokens, width]; `e`: kEmbeddings uses of the embedding.
  Tensor forward(Context& context, const Tensor& x, std::span<const Tensor> e) {
    const ops::Scope here = scope();
    const auto uses = ops::fork(x, 2);
    Tensor h = ops::adaptive_layer_norm(uses[0], modulation_->forward(context, e[0]), kNormEps);
    h = out_->forward(context, inside(in_->forward(context, h)));
    return ops::gated_add(uses[1], h, gate_->forward(context, e[1]));
  }

  // Of a sample of so many tokens.
  virtual double flops(double tokens) const {
    return modulation_->flops() + gate_->flops() + tokens * (in_->flops() + out_->flops());
  }

 protected:
  virtual Tensor inside(const Tensor& h) const = 0;

 private:
  std::shared_ptr<Linear> modulation_, in_, out_, gate_;
};

class AttentionBranch : public Branch {
 public:
  explicit AttentionBranch(const DitOptions& o)
      : Branch(o.width, 3 * o.width, o.width, o), heads_(o.heads), width_(o.width) {}
  double flops(double tokens) const override {
    return Branch::flops(tokens) + 2.0 * 2.0 * tokens * tokens * static_cast<double>(width_);
  }

 protected:
  Tensor inside(const Tensor& h) const override { return ops::attention(h, heads_); }

 private:
  std::int64_t heads_, width_;
};

class MlpBranch : public Branch {
 public:
  explicit MlpBranch(const DitOptions& o)
      : Branch(o.width, o.mlp_ratio * o.width, o.mlp_ratio * o.width, o) {}

 protected:
  Tensor inside(const Tensor& h) const override { return ops::gelu_tanh(h); }
};

class Block : public Layer {
 public:
  static constexpr int kEmbeddings = 2 * Branch::kEmbeddings;

  explicit Block(const DitOptions& o) {
    attention_ = register_module("attention", std::make_shared<AttentionBranch>(o));
    mlp_ = register_module("mlp", std::make_shared<MlpBranch>(o));
  }
  Tensor forward(Context& context, const Tensor& x, std::span<const Tensor> e) {
    const ops::Scope here = scope();
    const Tensor h = attention_->forward(context, x, e.first(Branch::kEmbeddings));
    return mlp_->forward(context, h, e.subspan(Branch::kEmbeddings));
  }
  double flops(double tokens) const { return attention_->flops(tokens) + mlp_->flops(tokens); }

 private:
  std::shared_ptr<AttentionBranch> attention_;
  std::shared_ptr<MlpBranch> mlp_;
};

// The sinusoidal embedding of a token's row beside that of its column; without parameters.
class Positions : public Layer {
 public:
  Positions(std::int64_t rows, std::int64_t columns, std::int64_t width)
      : rows_(rows), columns_(columns), width_(width) {}

  void prepare(bool /*trained*/) override {
    if (table_.defined()) return;
    std::vector<float> y, x;
    for (std::int64_t i = 0; i < rows_ * columns_; ++i) {
      y.push_back(static_cast<float>(i / columns_));
      x.push_back(static_cast<float>(i % columns_));
    }
    const auto embedded = [&](const std::vector<float>& places) {
      return time_embedding(ops::from_host(places, {std::ssize(places)}), width_ / 2);
    };
    table_ = ops::concat_channels(embedded(y), embedded(x));
  }

  // x [N, tokens, width] + the table of each sample.
  Tensor add_to(const Tensor& x) const {
    LOCKSTEP_ASSERT(table_.defined(), "prepare() before forward()");
    Tensor places = ops::empty(x.sizes());
    ops::device().repeat(1, x.size(0), table_.numel(), ops::read(table_), ops::write(places));
    return ops::add(x, places);
  }

 private:
  std::int64_t rows_, columns_, width_;
  Tensor table_;  // [tokens, width]
};

class Dit : public TimeConditioned {
 public:
  Dit(const DitOptions& o, const Shape& shape, std::int64_t classes);
  Tensor forward(Context& context, const Tensor& x, const Tensor& t,
                 const Tensor& condition) override;
  double forward_flops() const override { return flops_; }

 private:
  std::int64_t patch_;
  double flops_ = 0;
  std::shared_ptr<Linear> input_, output_modulation_, output_;
  std::shared_ptr<Positions> positions_;
  std::vector<std::shared_ptr<Block>> blocks_;
};

Dit::Dit(const DitOptions& o, const Shape& shape, std::int64_t classes)
    : TimeConditioned(o.width, o.embedding, classes), patch_(o.patch) {
  const std::int64_t rows = shape[0] / o.patch, columns = shape[1] / o.patch,
                     values = o.patch * o.patch * shape[2];
  const auto tokens = static_cast<double>(rows * columns);
  input_ = register_module("input", std::make_shared<Linear>(values, o.width));
  positions_ = register_module("positions", std::make_shared<Positions>(rows, columns, o.width));
  for (std::int64_t i = 0; i < o.depth; ++i) {
    blocks_.push_back(register_module("block" + std::to_string(i), std::make_shared<Block>(o)));
    flops_ += blocks_.back()->flops(tokens);
  }
  output_modulation_ = register_module(
      "output_modulation",
      std::make_shared<Linear>(o.embedding, 2 * o.width, Weights{InitScheme::kZero}));
  output_ = register_module("output",
                            std::make_shared<Linear>(o.width, values, Weights{InitScheme::kZero}));
  flops_ += embedding_flops() + output_modulation_->flops() +
            tokens * (input_->flops() + output_->flops());
}

Tensor Dit::forward(Context& context, const Tensor& x, const Tensor& t, const Tensor& condition) {
  const ops::Scope here = scope();
  const auto uses = ops::fork(embed(context, t, condition),
                              Block::kEmbeddings * static_cast<int>(blocks_.size()) + 1);
  std::span<const Tensor> embeddings = uses;

  Tensor h = positions_->add_to(input_->forward(context, ops::patches(x, patch_)));
  for (const auto& block : blocks_) {
    h = block->forward(context, h, embeddings.first(Block::kEmbeddings));
    embeddings = embeddings.subspan(Block::kEmbeddings);
  }
  h = ops::adaptive_layer_norm(h, output_modulation_->forward(context, embeddings[0]), kNormEps);
  return ops::from_patches(output_->forward(context, h), patch_, x.size(1), x.size(2));
}

}  // namespace

std::shared_ptr<Network> make_dit(const Options& options, const Shape& shape,
                                  std::int64_t classes) {
  const auto& o = options.kind.as<DitOptions>();
  require(shape.size() == 3, "kind: dit needs pictures", "use another kind for this data");
  require(shape[0] % o.patch == 0 && shape[1] % o.patch == 0,
          "patch: " + std::to_string(o.patch) + " does not divide the sides of " +
              std::to_string(shape[0]) + " x " + std::to_string(shape[1]) + " pixels",
          "use a common divisor of both sides");
  require(o.width % 4 == 0,
          "width: " + std::to_string(o.width) +
              " is no multiple of 4; positions are sines and cosines of rows and of columns",
          "use a multiple of 4");
  require(
      o.width % o.heads == 0,
      "heads: " + std::to_string(o.heads) + " does not divide the width " + std::to_string(o.width),
      "use a divisor of the width");
  return std::make_shared<Dit>(o, shape, classes);
}

}  // namespace lockstep::model
