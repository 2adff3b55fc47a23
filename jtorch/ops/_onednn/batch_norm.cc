// Sums of batch norm, for XLA's programs (FFI handlers) and for the host (plain functions).
//
// XLA compiles several loops for each layer's batch norm, and compiles them anew for each size. These handlers spare that time.
// Arrays are float32 and densely packed: images x channels x places, or one number for each channel. Each thread computes some of
// the channels (shares.h), which does not change the results.

#include "shares.h"

#include <algorithm>
#include <cmath>

using namespace jtorch;

namespace {

#define INSIDE inline __attribute__((always_inline))

constexpr int64_t OF_A_SHARE = 1 << 15;     // numbers of the smallest share; a smaller value wakes too many threads
// numbers that are added in float32; their sums are added in double, so a larger value loses precision
constexpr int64_t IN_A_ROW = 4096;

// ---------------------------------------------------------------- a row of numbers

typedef float Lanes __attribute__((vector_size(64), aligned(4), may_alias));
constexpr int64_t LANES = sizeof(Lanes) / sizeof(float);

INSIDE Lanes &lanes(float *x) { return *reinterpret_cast<Lanes *>(x); }
INSIDE const Lanes &lanes(const float *x) { return *reinterpret_cast<const Lanes *>(x); }

INSIDE double added(const Lanes &some) {
    double total = 0;
    for (int64_t k = 0; k < LANES; k++) total += some[k];
    return total;
}

INSIDE double sum(const float *x, float less, int64_t n) {
    Lanes a{}, b{};
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) a += lanes(x + i) - less, b += lanes(x + i + LANES) - less;
    double total = added(a + b);
    for (; i < n; i++) total += x[i] - less;
    return total;
}

INSIDE double squares(const float *x, float mean, int64_t n) {
    Lanes a{}, b{};
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        Lanes c = lanes(x + i) - mean, d = lanes(x + i + LANES) - mean;
        a += c * c, b += d * d;
    }
    double total = added(a + b);
    for (; i < n; i++) total += double(x[i] - mean) * (x[i] - mean);
    return total;
}

// Adds the sum of y, and the sum of y * (x - mean), to `sums`.
INSIDE void add_products(double sums[2], const float *x, float mean, const float *y, int64_t n) {
    Lanes a{}, b{};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) a += lanes(y + i), b += lanes(y + i) * (lanes(x + i) - mean);
    sums[0] += added(a), sums[1] += added(b);
    for (; i < n; i++) sums[0] += y[i], sums[1] += double(y[i]) * (x[i] - mean);
}

// Computes y * a + (x - mean) * b + c.
INSIDE void combine(const float *x, float mean, const float *y, float a, float b, float c, float *made, int64_t n) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) lanes(made + i) = lanes(y + i) * a + (lanes(x + i) - mean) * b + c;
    for (; i < n; i++) made[i] = y[i] * a + (x[i] - mean) * b + c;
}

// ---------------------------------------------------------------- channels

#define EACH [&](int64_t at, int64_t n) __attribute__((always_inline))

struct Sizes {
    int64_t images, channels, places;

    // Calls f(start, length) for each row of a channel.
    template <typename F>
    INSIDE void rows(int64_t channel, F f) const {
        for (int64_t image = 0; image < images; image++)
            for (int64_t from = 0; from < places; from += IN_A_ROW)
                f((image * channels + channel) * places + from, std::min(IN_A_ROW, places - from));
    }
};

struct Statistics {     // computes each channel's mean, variance, and scale: 1 / sqrt(uncorrected variance + eps)
    Sizes sizes;
    const float *x;
    float *mean, *variance, *scale;
    double eps, correction;

    INSIDE void compute(int64_t channel) const {
        double total = 0, square = 0, count = double(sizes.images * sizes.places);
        float first = x[channel * sizes.places];        // an estimate of the mean: sums of differences from it keep more digits
        if (!(std::fabs(first) < 1e30f)) first = 0;     // differences from a huge estimate could overflow
        sizes.rows(channel, EACH { total += sum(x + at, first, n); });
        float m = mean[channel] = float(first + total / count);
        sizes.rows(channel, EACH { square += squares(x + at, m, n); });
        variance[channel] = float(square / (count - correction));
        scale[channel] = float(1 / std::sqrt(double(float(square / count)) + eps));
    }
};

struct Gradients {      // the gradients of x, weight and bias, given y, the gradient of (x - mean) * scale * weight + bias
    Sizes sizes;
    const float *x, *mean, *scale, *weight, *y;
    float *of_x, *of_weight, *of_bias;

    INSIDE void compute(int64_t channel) const {
        double sums[2] = {}, count = double(sizes.images * sizes.places), s = scale[channel], a = s * weight[channel];
        float m = mean[channel];
        sizes.rows(channel, EACH { add_products(sums, x + at, m, y + at, n); });
        of_bias[channel] = float(sums[0]), of_weight[channel] = float(sums[1] * s);
        float b = float(-a * s * s * sums[1] / count), c = float(-a * sums[0] / count);
        sizes.rows(channel, EACH { combine(x + at, m, y + at, float(a), b, c, of_x + at, n); });
    }
};

// ---------------------------------------------------------------- running them

#if defined(__x86_64__)
template <typename T>
__attribute__((target("avx512f"))) void with_avx512(const T &of, int64_t from, int64_t to) {
    for (int64_t channel = from; channel < to; channel++) of.compute(channel);
}

template <typename T>
__attribute__((target("avx2"))) void with_avx2(const T &of, int64_t from, int64_t to) {
    for (int64_t channel = from; channel < to; channel++) of.compute(channel);
}
#endif

template <typename T>
void compute(const T &of, int64_t from, int64_t to) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return with_avx512(of, from, to);
    if (__builtin_cpu_supports("avx2")) return with_avx2(of, from, to);
#endif
    for (int64_t channel = from; channel < to; channel++) of.compute(channel);
}

template <typename T>
class OfChannels : public Shares {
  public:
    OfChannels(const T &of, int64_t count) : Shares(count), of(of) {}

  private:
    void compute(int64_t k) override {
        int64_t channels = of.sizes.channels;
        ::compute(of, start(k, channels), start(k + 1, channels));
    }

    const T of;
};

template <typename T>
std::shared_ptr<Shares> shares_for(const T &of, int64_t threads) {
    const Sizes &sizes = of.sizes;
    int64_t numbers = sizes.images * sizes.channels * sizes.places, most = std::min(threads, sizes.channels);
    return std::make_shared<OfChannels<T>>(of, shares_of_work(numbers, OF_A_SHARE, most));
}

template <typename T>
ffi::Future in_shares(const T &of, ffi::ThreadPool pool) {
    return Shares::computed(shares_for(of, threads_of(pool)), pool);
}

using Array = ffi::Buffer<ffi::F32>;

Sizes sizes_of(const Array &x) {
    auto dims = x.dimensions();
    return {dims[0], dims[1], dims[0] && dims[1] ? int64_t(x.element_count()) / dims[0] / dims[1] : 0};
}

ffi::Future statistics(ffi::ThreadPool pool, double eps, double correction, Array x, ffi::Result<Array> mean,
                       ffi::Result<Array> variance, ffi::Result<Array> scale) {
    return in_shares(Statistics{sizes_of(x), x.typed_data(), mean->typed_data(), variance->typed_data(), scale->typed_data(), eps,
                                correction},
                     pool);
}

ffi::Future gradients(ffi::ThreadPool pool, Array x, Array mean, Array scale, Array weight, Array y, ffi::Result<Array> of_x,
                      ffi::Result<Array> of_weight, ffi::Result<Array> of_bias) {
    return in_shares(Gradients{sizes_of(x), x.typed_data(), mean.typed_data(), scale.typed_data(), weight.typed_data(),
                               y.typed_data(), of_x->typed_data(), of_weight->typed_data(), of_bias->typed_data()},
                     pool);
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(jtorch_batch_statistics, statistics,
                              ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Attr<double>("eps").Attr<double>("correction").Arg<Array>()
                                  .Ret<Array>().Ret<Array>().Ret<Array>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(jtorch_batch_norm_gradients, gradients,
                              ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<Array>().Arg<Array>().Arg<Array>().Arg<Array>()
                                  .Arg<Array>().Ret<Array>().Ret<Array>().Ret<Array>());

extern "C" {

// Computes the statistics on the host. `sizes` holds images, channels and places.
void jtorch_host_batch_statistics(const int64_t *sizes, double eps, double correction, const float *x, float *mean,
                                  float *variance, float *scale) {
    Statistics of{{sizes[0], sizes[1], sizes[2]}, x, mean, variance, scale, eps, correction};
    Shares::compute_on_host(shares_for(of, host_threads()));
}

void jtorch_host_batch_norm_gradients(const int64_t *sizes, const float *x, const float *mean, const float *scale,
                                      const float *weight, const float *y, float *of_x, float *of_weight, float *of_bias) {
    Gradients of{{sizes[0], sizes[1], sizes[2]}, x, mean, scale, weight, y, of_x, of_weight, of_bias};
    Shares::compute_on_host(shares_for(of, host_threads()));
}

}  // extern "C"
