// The gradient of the filters of a convolution in small groups, such as a depthwise one. oneDNN has no quick kernel for most of
// these.
//
// A tap's gradient is the sum over all places of the result's gradient times the input at that tap. For each column of taps an
// image of a channel is copied into the order in which these taps read it (with its padding, and grouped by the stride's
// remainders). Then each tap's sum is one product of two contiguous rows of numbers.

#include "filters.h"

#include <algorithm>
#include <vector>

using namespace jtorch;

namespace {

#define INSIDE inline __attribute__((always_inline))

constexpr int64_t CHANNELS = 8;             // the most channels of a group: oneDNN's products are quicker for larger groups
constexpr int64_t OF_A_SHARE = 1 << 18;     // operations of the smallest share; a smaller value wakes too many threads

typedef float Lanes __attribute__((vector_size(64), aligned(4), may_alias));
constexpr int64_t LANES = sizeof(Lanes) / sizeof(float);

INSIDE const Lanes &lanes(const float *x) { return *reinterpret_cast<const Lanes *>(x); }

INSIDE double product(const float *x, const float *y, int64_t n) {
    Lanes a{}, b{};
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        a += lanes(x + i) * lanes(y + i);
        b += lanes(x + i + LANES) * lanes(y + i + LANES);
    }
    a += b;
    double total = 0;
    for (int64_t k = 0; k < LANES; k++) total += a[k];
    for (; i < n; i++) total += double(x[i]) * y[i];
    return total;
}

struct Dim {        // the sizes of the input (size), the filters (taps) and the result (places) in one dimension
    int64_t size = 1, taps = 1, places = 1, stride = 1, before = 0, dilation = 1;
};

struct Gradient {
    const float *x, *y;
    float *made;
    int64_t images, channels, results, groups;
    Dim rows, columns;

    Gradient(const Numbers &is, const float *x, const float *y, float *made)
        : x(x), y(y), made(made), images(is.shapes[INPUT][0]), channels(is.shapes[INPUT][1]), results(is.shapes[RESULT][1]),
          groups(is.groups) {
        Dim *dims[] = {&rows, &columns};
        for (int64_t k = 0; k < is.n; k++)
            *dims[k + 2 - is.n] = {is.shapes[INPUT][k + 2], is.shapes[FILTERS][k + 2], is.shapes[RESULT][k + 2], is.stride[k],
                                   is.before[k], is.dilation[k]};
    }

    double operations() const {
        return 2.0 * images * results * (channels / groups) * rows.taps * rows.places * columns.taps * columns.places;
    }

    // Rows of the padded input that have the same remainder by the stride are copied one after another, since each tap reads one
    // remainder only. Returns the number of rows of each remainder.
    int64_t together() const { return rows.places + (rows.taps - 1) * rows.dilation / rows.stride + 1; }
    int64_t laid() const { return rows.stride * together() * columns.places; }

    // Copies an image of a channel as column `j` of the taps reads it: for each remainder, each row, each column of the result.
    INSIDE void lay(const float *image, int64_t j, float *out) const {
        int64_t shift = j * columns.dilation - columns.before, step = columns.stride;
        int64_t first = std::clamp<int64_t>((-shift + step - 1) / step, 0, columns.places);
        int64_t last = shift >= columns.size ? 0 : std::clamp<int64_t>((columns.size - 1 - shift) / step + 1, 0, columns.places);
        first = std::min(first, last);
        for (int64_t phase = 0; phase < rows.stride; phase++)
            for (int64_t q = 0; q < together(); q++, out += columns.places) {
                int64_t row = q * rows.stride + phase - rows.before;
                if (row < 0 || row >= rows.size) {
                    std::fill(out, out + columns.places, 0.0f);
                    continue;
                }
                const float *from = image + row * columns.size + shift;
                std::fill(out, out + first, 0.0f);
                if (step == 1)
                    std::copy(from + first, from + last, out + first);
                else
                    for (int64_t k = first; k < last; k++) out[k] = from[k * step];
                std::fill(out + last, out + columns.places, 0.0f);
            }
    }

    INSIDE void compute(int64_t channel) const {
        int64_t inputs = channels / groups, outputs = results / groups, group = channel / inputs;
        int64_t taps = rows.taps * columns.taps, places = rows.places * columns.places;
        std::vector<double> sums(outputs * taps);
        std::vector<float> met(laid());
        for (int64_t image = 0; image < images; image++)
            for (int64_t j = 0; j < columns.taps; j++) {
                lay(x + (image * channels + channel) * rows.size * columns.size, j, met.data());
                for (int64_t o = 0; o < outputs; o++)
                    for (int64_t i = 0; i < rows.taps; i++) {
                        int64_t reach = i * rows.dilation;
                        const float *at = met.data() + (reach % rows.stride * together() + reach / rows.stride) * columns.places;
                        sums[o * taps + i * columns.taps + j] +=
                            product(at, y + (image * results + group * outputs + o) * places, places);
                    }
            }
        for (int64_t o = 0; o < outputs; o++)
            for (int64_t k = 0; k < taps; k++)
                made[((group * outputs + o) * inputs + channel % inputs) * taps + k] = float(sums[o * taps + k]);
    }
};

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void with_avx512(const Gradient &of, int64_t from, int64_t to) {
    for (int64_t channel = from; channel < to; channel++) of.compute(channel);
}

__attribute__((target("avx2,fma"))) void with_avx2(const Gradient &of, int64_t from, int64_t to) {
    for (int64_t channel = from; channel < to; channel++) of.compute(channel);
}
#endif

void compute(const Gradient &of, int64_t from, int64_t to) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return with_avx512(of, from, to);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return with_avx2(of, from, to);
#endif
    for (int64_t channel = from; channel < to; channel++) of.compute(channel);
}

class OfChannels : public Shares {
  public:
    OfChannels(const Gradient &of, int64_t count) : Shares(count), of(of) {}

  private:
    void compute(int64_t k) override { ::compute(of, start(k, of.channels), start(k + 1, of.channels)); }

    const Gradient of;
};

}  // namespace

bool jtorch::are_small_groups(const Numbers &is) {
    return is.kind == FILTERS && is.groups > 1 && is.n <= 2 && is.shapes[FILTERS][1] <= CHANNELS &&
           is.shapes[RESULT][1] / is.groups <= CHANNELS;
}

static std::shared_ptr<Shares> shares_for(const Gradient &of, int64_t threads) {
    return std::make_shared<OfChannels>(of, shares_of_work(of.operations(), OF_A_SHARE, std::min<int64_t>(threads, of.channels)));
}

void jtorch::filters_of_groups(const Numbers &is, const float *x, const float *y, float *made) {
    Shares::compute_on_host(shares_for(Gradient(is, x, y, made), host_threads()));
}

ffi::Future jtorch::filters_of_groups(const Numbers &is, const float *x, const float *y, float *made, ffi::ThreadPool pool) {
    return Shares::computed(shares_for(Gradient(is, x, y, made), threads_of(pool)), pool);
}
