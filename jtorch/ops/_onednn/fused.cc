// Fused elementwise steps on the host: an interpreter runs a list of instructions for each row of the arrays, in shares (shares.h).
//
// NumPy reads and writes memory once for each step, and allocates an array for each result. The interpreter keeps intermediate
// values in the cache.
//
// A value is a row of `width` numbers or a single number. An input may have fewer rows than the result: row r of the result
// takes row r modulo the input's rows. Arrays are float32, or bool for masks. Masks between instructions are words of all ones or
// zeros.

#include <Python.h>

#include "shares.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace jtorch;

namespace {

#define INSIDE inline __attribute__((always_inline))

// Numbers in a chunk. If there are no rows, chunks take their place. A larger chunk would not fit the first-level cache.
constexpr int64_t IN_A_CHUNK = 1024;
// Numbers of a share, for a program of four instructions. Waking a thread for a smaller share costs more than it saves. A larger
// value uses fewer threads.
constexpr int64_t OF_A_SHARE = 1 << 14;
constexpr int64_t LANES = 16;       // numbers that a reduction handles at a time

// ---------------------------------------------------------------- functions of a number

INSIDE int32_t bits_of(float x) {
    int32_t i;
    std::memcpy(&i, &x, sizeof i);
    return i;
}

INSIDE float of_bits(int32_t i) {
    float x;
    std::memcpy(&x, &i, sizeof x);
    return x;
}

INSIDE float power_of_two(int32_t n) { return of_bits((n + 127) << 23); }

// Cephes' expf: 2**n times a polynomial of x - n log(2), whose magnitude is at most log(2) / 2.
INSIDE float exponential(float x) {
    float y = x > 89.0f ? 89.0f : x;
    y = y < -104.0f ? -104.0f : y;
    float shifted = y * 1.44269504f + 12582912.0f, n = shifted - 12582912.0f;      // rounded to an integer
    int32_t k = bits_of(shifted) - bits_of(12582912.0f);
    float r = y - n * 0.693359375f + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    int32_t half = k >> 1;
    return x != x ? x : p * power_of_two(half) * power_of_two(k - half);
}

// Cephes' logf.
INSIDE float logarithm(float x) {
    bool is_small = x < 1.17549435e-38f;
    float scaled = is_small ? x * 33554432.0f : x;
    int32_t i = bits_of(scaled), e = (i >> 23) - 126 - (is_small ? 25 : 0);
    float m = of_bits((i & 0x007fffff) | 0x3f000000);
    bool is_low = m < 0.707106781f;
    e -= is_low ? 1 : 0;
    m = is_low ? m + m - 1.0f : m - 1.0f;
    float z = m * m, p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    float n = float(e), y = m * z * p - 2.12194440e-4f * n - 0.5f * z;
    float found = m + y + 0.693359375f * n;
    found = x == INFINITY ? x : found;
    found = x == 0.0f ? -INFINITY : found;
    return x < 0.0f || x != x ? NAN : found;
}

// Cephes' erff up to 1, and Abramowitz and Stegun's formula 7.1.26 beyond, whose error is at most 1.5e-7.
INSIDE float error_function(float x) {
    float z = x * x, q = 7.853861353153693e-5f;
    q = q * z - 8.010193625184903e-4f;
    q = q * z + 5.188327685732524e-3f;
    q = q * z - 2.685381193529856e-2f;
    q = q * z + 1.128358514861418e-1f;
    q = q * z - 3.761262582423300e-1f;
    q = q * z + 1.128379165726710f;
    float a = std::fabs(x), t = 1.0f / (1.0f + 0.3275911f * a), p = 1.061405429f;
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    float y = 1.0f - p * t * exponential(-z);
    y = x < 0.0f ? -y : y;
    return a < 1.0f ? x * q : y;
}

// Cephes' tanhf.
INSIDE float hyperbolic_tangent(float x) {
    float a = std::fabs(x), z = x * x, p = -5.70498872745e-3f;
    p = p * z + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    float small = p * z * x + x, large = 1.0f - 2.0f / (exponential(a + a) + 1.0f);
    large = x < 0.0f ? -large : large;
    return a < 0.625f ? small : large;
}

INSIDE float larger(float a, float b) { return a != a || a > b ? a : b; }
INSIDE float smaller(float a, float b) { return a != a || a < b ? a : b; }

// ---------------------------------------------------------------- instructions

#define UNARY(F)                                                                                                    \
    F(COPY, x) F(NEG, -x) F(ABS, std::fabs(x)) F(EXP, exponential(x)) F(LOG, logarithm(x)) F(TANH, hyperbolic_tangent(x)) \
    F(ERF, error_function(x)) F(LOGISTIC, 1.0f / (1.0f + exponential(-x))) F(SQRT, std::sqrt(x))                     \
    F(RSQRT, 1.0f / std::sqrt(x)) F(SQUARE, x *x) F(CUBE, x *x *x) F(RECIPROCAL, 1.0f / x)                           \
    F(SIGN, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x) F(NOT, of_bits(~bits_of(x))) F(FLOOR, std::floor(x))             \
    F(FLOAT, of_bits(bits_of(x) & bits_of(1.0f)))
#define BINARY(F)                                                                                                   \
    F(ADD, a + b) F(SUB, a - b) F(MUL, a *b) F(DIV, a / b) F(MAX, larger(a, b)) F(MIN, smaller(a, b))                \
    F(EQ, mask(a == b)) F(NE, mask(a != b)) F(LT, mask(a < b)) F(LE, mask(a <= b)) F(GT, mask(a > b)) F(GE, mask(a >= b)) \
    F(AND, of_bits(bits_of(a) & bits_of(b))) F(OR, of_bits(bits_of(a) | bits_of(b)))

INSIDE float mask(bool is_true) { return of_bits(is_true ? -1 : 0); }

enum Operation : int32_t {
#define NAMED(NAME, ...) NAME,
    UNARY(NAMED) BINARY(NAMED) SELECT,
    SUM, LARGEST, LEAST,        // reductions of a row
    FROM_BOOL, TO_BOOL, OPERATIONS
};

struct Instruction {
    int32_t operation, made, a, b, c;
};

struct Value {      // the current row of a value: its address, and whether it is a single number
    char *at;
    bool is_number;
};

template <typename F>
INSIDE void each(float *__restrict made, int64_t n, const float *x, bool is_number, F f) {
    if (is_number) {
        float number = f(*x);
        for (int64_t i = 0; i < n; i++) made[i] = number;
    } else {
        for (int64_t i = 0; i < n; i++) made[i] = f(x[i]);
    }
}

template <typename F>
INSIDE void each(float *made, int64_t n, const float *a, bool a_is_number, const float *b, bool b_is_number, F f) {
    if (a_is_number) {
        float number = *a;
        each(made, n, b, b_is_number, [=](float x) __attribute__((always_inline)) { return f(number, x); });
    } else if (b_is_number) {
        float number = *b;
        each(made, n, a, false, [=](float x) __attribute__((always_inline)) { return f(x, number); });
    } else {
        float *__restrict out = made;
        for (int64_t i = 0; i < n; i++) out[i] = f(a[i], b[i]);
    }
}

INSIDE void select(float *__restrict made, int64_t n, const Value &which, const Value &no, const Value &yes) {
    auto w = reinterpret_cast<const int32_t *>(which.at);
    auto f = reinterpret_cast<const float *>(no.at), t = reinterpret_cast<const float *>(yes.at);
    if (!which.is_number && !no.is_number && !yes.is_number) {
        for (int64_t i = 0; i < n; i++) made[i] = w[i] ? t[i] : f[i];
    } else if (!which.is_number && no.is_number && yes.is_number) {
        float x = *f, y = *t;
        for (int64_t i = 0; i < n; i++) made[i] = w[i] ? y : x;
    } else if (!which.is_number && no.is_number) {
        float x = *f;
        for (int64_t i = 0; i < n; i++) made[i] = w[i] ? t[i] : x;
    } else if (!which.is_number) {
        float y = *t;
        for (int64_t i = 0; i < n; i++) made[i] = w[i] ? y : f[i];
    } else {
        const Value &chosen = *w ? yes : no;
        each(made, n, reinterpret_cast<const float *>(chosen.at), chosen.is_number, [](float x) __attribute__((always_inline)) { return x; });
    }
}

// Reduces each lane, then the lanes, then the rest of the row.
template <typename F>
INSIDE float reduced(const float *x, int64_t n, float start, F f) {
    float lanes[LANES], found = start;
    for (int64_t k = 0; k < LANES; k++) lanes[k] = start;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int64_t k = 0; k < LANES; k++) lanes[k] = f(lanes[k], x[i + k]);
    for (int64_t k = 0; k < LANES; k++) found = f(found, lanes[k]);
    for (; i < n; i++) found = f(found, x[i]);
    return found;
}

INSIDE float sum(const float *x, int64_t n) {
    constexpr int64_t IN_A_ROW = 4096;      // numbers added in float32 before a sum in double; a larger value rounds more
    double total = 0;
    for (int64_t from = 0; from < n; from += IN_A_ROW)
        total += reduced(x + from, std::min(IN_A_ROW, n - from), 0.0f, [](float a, float b) __attribute__((always_inline)) { return a + b; });
    return float(total);
}

INSIDE void run(const Instruction &is, const Value *values, int64_t width) {
    const Value &made = values[is.made], &a = values[is.a], &b = values[is.b];
    auto out = reinterpret_cast<float *>(made.at);
    auto x = reinterpret_cast<const float *>(a.at), y = reinterpret_cast<const float *>(b.at);
    int64_t n = made.is_number ? 1 : width;
    switch (is.operation) {
#define UNARY_CASE(NAME, FORMULA) \
    case NAME: return each(out, n, x, a.is_number, [](float x) __attribute__((always_inline)) { return float(FORMULA); });
#define BINARY_CASE(NAME, FORMULA)                                          \
    case NAME:                                                              \
        return each(out, n, x, a.is_number, y, b.is_number,                 \
                    [](float a, float b) __attribute__((always_inline)) { return float(FORMULA); });
        UNARY(UNARY_CASE)
        BINARY(BINARY_CASE)
        case SELECT: return select(out, n, a, b, values[is.c]);
        case SUM: *out = sum(x, width); return;
        case LARGEST: *out = reduced(x, width, -INFINITY, [](float a, float b) __attribute__((always_inline)) { return larger(a, b); }); return;
        case LEAST: *out = reduced(x, width, INFINITY, [](float a, float b) __attribute__((always_inline)) { return smaller(a, b); }); return;
        case FROM_BOOL:
            for (int64_t i = 0; i < n; i++) reinterpret_cast<int32_t *>(made.at)[i] = -int32_t(a.at[a.is_number ? 0 : i]);
            return;
        case TO_BOOL:
            for (int64_t i = 0; i < n; i++) made.at[i] = reinterpret_cast<const int32_t *>(a.at)[a.is_number ? 0 : i] & 1;
            return;
    }
}

// ---------------------------------------------------------------- a program

struct Array {
    char *at;
    int64_t rows, bytes;        // the number of rows, and the bytes of a row
    bool is_number;
};

class Rows : public Shares {
  public:
    // The values are the arrays, then `numbers` single numbers, then the registers, in this order.
    Rows(const Instruction *code, int64_t instructions, std::vector<Array> arrays, int64_t numbers, int64_t registers, int64_t rows,
         int64_t width, int64_t last_width, int64_t count)
        : Shares(count), code(code), instructions(instructions), arrays(std::move(arrays)), numbers(numbers), registers(registers),
          rows(rows), width(width), last_width(last_width) {}

  private:
    void compute(int64_t k) override {
        size_t stride = rounded(width * sizeof(float));
        Scratch block(registers * stride + ALIGNMENT * numbers);
        std::vector<Value> values(arrays.size());
        char *at = block.at;
        for (int64_t n = 0; n < numbers; n++, at += ALIGNMENT) values.push_back({at, true});
        for (int64_t n = 0; n < registers; n++, at += stride) values.push_back({at, false});
        int64_t from = start(k, rows), to = start(k + 1, rows);
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return with_avx512(values.data(), from, to);
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return with_avx2(values.data(), from, to);
#endif
        go(values.data(), from, to);
    }

#if defined(__x86_64__)
    __attribute__((target("avx512f,avx512dq,avx2,fma,prefer-vector-width=512"))) void with_avx512(Value *values, int64_t from, int64_t to) const {
        go(values, from, to);
    }

    __attribute__((target("avx2,fma"))) void with_avx2(Value *values, int64_t from, int64_t to) const { go(values, from, to); }
#endif

    INSIDE void go(Value *values, int64_t from, int64_t to) const {
        for (int64_t row = from; row < to; row++) {
            for (size_t k = 0; k < arrays.size(); k++) {
                const Array &is = arrays[k];
                values[k] = {is.at + (is.rows == 1 ? 0 : is.rows == rows ? row : row % is.rows) * is.bytes, is.is_number};
            }
            int64_t n = row == rows - 1 ? last_width : width;
            for (int64_t k = 0; k < instructions; k++) run(code[k], values, n);
        }
    }

    const Instruction *const code;
    const int64_t instructions;
    const std::vector<Array> arrays;
    const int64_t numbers, registers, rows, width, last_width;
};

class Buffers {
  public:
    ~Buffers() {
        for (auto &view : views) PyBuffer_Release(&view);
    }
    bool take(PyObject *array, bool is_written) {
        Py_buffer view;
        if (PyObject_GetBuffer(array, &view, is_written ? PyBUF_CONTIG : PyBUF_CONTIG_RO)) return false;
        views.push_back(view);
        return true;
    }
    std::vector<Py_buffer> views;
};

struct Header {     // the start of a program, followed by its instructions
    int32_t inputs, outputs, numbers, registers, instructions;
};

}  // namespace

// fuse(program, width, rows, kinds, inputs…, outputs…) runs a program. `kinds` has a byte for each array: 1 if a row is a single
// number, else 0. A width of 0 stands for a program without rows; then `rows` is the count of numbers.
extern "C" PyObject *jtorch_fuse(PyObject *, PyObject *const *given, Py_ssize_t n) {
    if (n < 4 || !PyBytes_Check(given[0]) || !PyBytes_Check(given[3])) {
        PyErr_SetString(PyExc_TypeError, "fuse takes a program, its width, its rows, kinds, and arrays");
        return nullptr;
    }
    auto header = reinterpret_cast<const Header *>(PyBytes_AS_STRING(given[0]));
    auto code = reinterpret_cast<const Instruction *>(header + 1);
    int64_t width = PyLong_AsLongLong(given[1]), rows = PyLong_AsLongLong(given[2]), last_width = width, all = width * rows;
    if (PyErr_Occurred()) return nullptr;
    bool is_flat = width == 0;
    if (is_flat) {
        all = rows, width = std::min(all, IN_A_CHUNK), rows = (all + IN_A_CHUNK - 1) / IN_A_CHUNK;
        last_width = all - (rows - 1) * width;
    }
    const char *kinds = PyBytes_AS_STRING(given[3]);
    int64_t count = header->inputs + header->outputs;
    if (count != n - 4 || PyBytes_GET_SIZE(given[3]) != count) {
        PyErr_SetString(PyExc_TypeError, "fuse got another number of arrays than its program has");
        return nullptr;
    }
    Buffers buffers;
    std::vector<Array> arrays;
    for (int64_t k = 0; k < count; k++) {
        if (!buffers.take(given[4 + k], k >= header->inputs)) return nullptr;
        const Py_buffer &view = buffers.views.back();
        bool is_number = kinds[k];
        int64_t numbers = view.len / view.itemsize, each = is_number ? 1 : width;
        arrays.push_back({static_cast<char *>(view.buf), is_flat && !is_number ? rows : std::max<int64_t>(numbers / each, 1),
                          each * view.itemsize, is_number});
    }
    int64_t shares = shares_of_work(all * header->instructions / 4, OF_A_SHARE, std::min<int64_t>(host_threads(), rows));
    std::string fault;
    if (all) {
        Py_BEGIN_ALLOW_THREADS
        try {
            Shares::compute_on_host(std::make_shared<Rows>(code, header->instructions, std::move(arrays), header->numbers, header->registers,
                                                           rows, width, last_width, shares));
        } catch (const Failed &failed) {
            fault = failed.why;
        }
        Py_END_ALLOW_THREADS
    }
    if (fault.empty()) Py_RETURN_NONE;
    PyErr_SetString(PyExc_MemoryError, fault.c_str());
    return nullptr;
}

// Returns the names of the operations, in the order of their codes.
extern "C" PyObject *jtorch_operations(PyObject *, PyObject *) {
    static const char *const names[] = {
#define TEXT(NAME, ...) #NAME,
        UNARY(TEXT) BINARY(TEXT) "SELECT", "SUM", "LARGEST", "LEAST", "FROM_BOOL", "TO_BOOL"};
    PyObject *found = PyTuple_New(OPERATIONS);
    for (int k = 0; found && k < OPERATIONS; k++) PyTuple_SET_ITEM(found, k, PyUnicode_FromString(names[k]));
    return found;
}
