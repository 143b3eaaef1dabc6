// The kernels of a device that has all of them (device.h), as overrides: inside of the class. Not a
// header of its own.

void unary(Unary op, std::int64_t n, const float* x, float* out) override;
void unary_backward(Unary op, std::int64_t n, const float* x, const float* dy, float* out) override;
void leaky_relu(std::int64_t n, float slope, const float* x, float* out) override;
void leaky_relu_backward(std::int64_t n, float slope, const float* x, const float* dy,
                         float* out) override;
void binary(Binary op, std::int64_t n, const float* a, const float* b, float* out) override;
void scale(std::int64_t n, float factor, const float* x, float* out) override;
void scale_add(std::int64_t n, float factor, const float* x, const float* y, float* out) override;
void combine(std::int64_t n, float a, const float* x, float b, const float* y, float* out) override;
void combine_rows(std::int64_t rows, std::int64_t cols, const float* a, const float* x,
                  const float* b, const float* y, float* out) override;
void scale_rows(std::int64_t rows, std::int64_t cols, const float* x, const float* v,
                float* out) override;
void add_outer(std::int64_t rows, std::int64_t cols, const float* u, const float* v, const float* x,
               float* out) override;
void fill(std::int64_t n, float value, float* out) override;
void repeat(std::int64_t n, std::int64_t times, std::int64_t width, const float* x,
            float* out) override;
void time_embedding(std::int64_t n, std::int64_t width, const float* t, float* out) override;
void clamp(std::int64_t n, float low, float high, const float* x, float* out) override;
void clip_all(float limit, std::int64_t count, const float* squares,
              std::span<const std::span<float>> tensors) override;
void clamp_all(float low, float high, std::span<const std::span<float>> tensors) override;
void from_bytes(std::int64_t n, const std::uint8_t* bytes, float* out) override;
void to_bytes(std::int64_t n, const float* x, std::uint8_t* out) override;

void gemm(Batch batch, std::int64_t m, std::int64_t n, std::int64_t depth, Operand a, Operand b,
          const float* bias, Output c) override;
void linear(std::int64_t rows, std::int64_t in, std::int64_t out, Sides<const float> x,
            const float* w, const float* bias, float* y) override;
void linear_weight_grad(const LaneBlocks& lanes, std::int64_t rows, std::int64_t in,
                        std::int64_t out, const float* x, const float* dy, float* dw) override;

void conv2d(const ConvShape& s, const float* x, const float* w, const Added& added,
            float* y) override;
void conv2d_input_grad(const ConvShape& s, const float* dy, const float* w, const float* bias,
                       float* dx) override;
void conv2d_weight_grad(const ConvShape& s, const LaneBlocks& lanes, const float* x,
                        const float* dy, float* dw) override;

void round_groups(std::int64_t groups, std::int64_t rows, std::int64_t c, Sides<const float> x,
                  std::int16_t* q, std::int32_t* exponents) override;
void plain_integers(std::int64_t rows, std::int64_t c, const std::int16_t* q,
                    std::int16_t* plain) override;
void integer_conv2d(const ConvShape& s, const Rounded& x, const Rounded& w, const Added& added,
                    float* y) override;
void integer_conv2d_input_grad(const ConvShape& s, const Rounded& dy, const Rounded& w,
                               const float* bias, float* dx) override;
void integer_conv2d_weight_grad(const ConvShape& s, const LaneBlocks& lanes, const Rounded& x,
                                const Rounded& dy, float* dw) override;

void row_sums(std::int64_t rows, std::int64_t cols, const float* x, float* out) override;
void row_dots(std::int64_t rows, std::int64_t cols, const float* a, const float* b,
              float* out) override;
void row_squared_distances(std::int64_t rows, std::int64_t cols, const float* a, const float* b,
                           float* out) override;
void spatial_sums(std::int64_t n, std::int64_t spatial, std::int64_t c, const float* x,
                  float* out) override;
void lane_column_sums(const LaneBlocks& lanes, std::int64_t rows, std::int64_t cols, const float* x,
                      float* out) override;
void tile_squares(std::span<const std::span<const float>> tensors, float* out) override;

void tree_sum(const float* const* rows, std::int64_t count, std::int64_t width,
              float* out) override;
void tree_sum_nodes(std::int64_t total, std::span<const Subtree> nodes, const float* const* rows,
                    std::int64_t width, float* out) override;
void sum_sealed(std::int64_t total, std::span<const Subtree> nodes, std::span<const SealedRow> rows,
                std::span<const SealedTile> tiles, float* broken) override;

void group_norm(const GroupNormShape& s, Sides<const float> x, const float* gamma,
                const float* beta, float* y, float* mean, float* rstd) override;
void group_norm_backward(const GroupNormShape& s, const LaneBlocks& lanes, Sides<const float> x,
                         const float* gamma, const float* beta, const float* mean,
                         const float* rstd, const float* dy, Sides<float> dx, float* dgamma,
                         float* dbeta) override;
void layer_norm(std::int64_t rows, std::int64_t c, float eps, const float* x, const Affine& affine,
                float* y, float* mean, float* rstd) override;
void layer_norm_backward(std::int64_t rows, std::int64_t c, const LaneBlocks& lanes,
                         std::int64_t rows_per_sample, const float* x, const Affine& affine,
                         const float* mean, const float* rstd, const float* dy, float* dx,
                         float* dgamma, float* dbeta) override;
void lane_moments(const LaneBlocks& lanes, std::int64_t rows, std::int64_t c, const float* x,
                  float* mean, float* m2) override;
void merge_moments(std::int64_t lanes, std::int64_t c, float count, const float* rows, float* mean,
                   float* variance) override;
void batch_norm_apply(std::int64_t rows, std::int64_t c, const float* x, const float* mean,
                      const float* rstd, const float* gamma, const float* beta, float* y) override;
void batch_norm_backward_sums(const LaneBlocks& lanes, std::int64_t rows, std::int64_t c,
                              const float* x, const float* mean, const float* rstd, const float* dy,
                              float* sum_dy, float* sum_dy_xhat) override;
void batch_norm_backward_apply(std::int64_t rows, std::int64_t c, float count, const float* x,
                               const float* mean, const float* rstd, const float* gamma,
                               const float* dy, const float* sum_dy, const float* sum_dy_xhat,
                               float* dx) override;

void softmax(std::int64_t rows, std::int64_t cols, float scale, const float* x, float* y) override;
void softmax_backward(std::int64_t rows, std::int64_t cols, float scale, const float* y,
                      const float* dy, float* dx) override;

void upsample_nearest(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c,
                      std::int64_t oh, std::int64_t ow, const float* x, float* y) override;
void upsample_nearest_backward(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c,
                               std::int64_t oh, std::int64_t ow, const float* dy,
                               float* dx) override;

std::unique_ptr<PendingUpdate> update(const UpdateRule& rule,
                                      std::span<const UpdatedTensor> tensors) override;

void fill_bits(const Stream& stream, std::uint64_t position, std::int64_t n,
               std::uint32_t* out) override;
void fill_uniform(const Stream& stream, std::uint64_t position, std::int64_t n,
                  float* out) override;
void fill_normal(const Stream& stream, std::uint64_t first, std::int64_t rows, std::int64_t n,
                 float* out) override;
void fill_mask(const Stream& stream, std::uint64_t first, std::int64_t rows, std::int64_t n,
               float rate, float kept, float* out) override;
