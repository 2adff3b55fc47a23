/* The Box-Muller transform of jtorch/ops/_box_muller.py, and fused multiply-adds, which round once.

   Only calls of fma are fused multiply-adds, since the extension is built with -ffp-contract=off. The option -fno-math-errno
   lets the compiler vectorize square roots. Without the processor's instruction the C library computes the same number. */

#include "speedups.h"
#include <math.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)       /* GCC vectorizes the loops only at this level */
#pragma GCC optimize("O3")
#endif
#if defined(__x86_64__) && defined(__GNUC__)
#define CHOOSES 1
#define FOR_FMA __attribute__((target("avx2,fma")))
#else
#define CHOOSES 0
#endif
#define INSIDE static inline __attribute__((always_inline))

enum { LANES = 8, BLOCK = 2 * LANES };

/* Returns sqrt(-2 log(1 - u)) for u = k / 2^24, by a polynomial of m in [sqrt(1/2), sqrt(2)), where 1 - u = m * 2^e. */
INSIDE float radius(int32_t k)
{
    float x = 1.0f - (float)k * 0x1p-24f;
    int32_t bits, e;
    memcpy(&bits, &x, sizeof x);
    e = (bits - 0x3F3504F3) >> 23;
    bits -= (int32_t)((uint32_t)e << 23);
    memcpy(&x, &bits, sizeof x);
    x -= 1.0f;
    float y = fmaf(7.0376836292e-2f, x, -1.1514610310e-1f), exponent = (float)e, z = x * x;
    y = fmaf(y, x, 1.1676998740e-1f);
    y = fmaf(y, x, -1.2420140846e-1f);
    y = fmaf(y, x, 1.4249322787e-1f);
    y = fmaf(y, x, -1.6668057665e-1f);
    y = fmaf(y, x, 2.0000714765e-1f);
    y = fmaf(y, x, -2.4999993993e-1f);
    y = fmaf(y, x, 3.3333331174e-1f);
    y = fmaf(y * x, z, exponent * -2.12194440e-4f) - z * 0.5f;
    return sqrtf((x + y + exponent * 0.693359375f) * -2.0f);
}

/* Computes sin and cos of 2 pi k / 2^24, by polynomials of the distance to the nearest multiple of pi / 2. */
INSIDE void sine_and_cosine(int32_t k, float *sine, float *cosine)
{
    float x = (float)k * 0x1p-24f * 6.283185307179586f;
    int32_t octant = ((int32_t)(x * 1.2732395447351628f) + 1) & ~1;
    float multiple = (float)octant;
    x += multiple * -0.78515625f;
    x += multiple * -2.4187564849853515625e-4f;
    x = fmaf(multiple, -3.77489497744594108e-8f, x);
    float z = x * x;
    float c = fmaf(fmaf(2.443315711809948e-5f, z, -1.388731625493765e-3f), z, 4.166664568298827e-2f) * z;
    float s = fmaf(fmaf(-1.9515295891e-4f, z, 8.3321608736e-3f), z, -1.6666654611e-1f) * z;
    c = fmaf(c, z, z * -0.5f) + 1.0f;
    s = fmaf(s, x, x);
    int32_t of_s, of_c;
    memcpy(&of_s, &s, sizeof s);
    memcpy(&of_c, &c, sizeof c);
    int32_t swap = (of_s ^ of_c) & -((octant >> 1) & 1);
    of_s ^= swap ^ (int32_t)((uint32_t)(octant & 4) << 29);
    of_c ^= swap ^ (int32_t)((uint32_t)((octant + 2) & 4) << 29);
    memcpy(sine, &of_s, sizeof s);
    memcpy(cosine, &of_c, sizeof c);
}

/* Transforms blocks of 16 numbers: 8 give radii and 8 give angles. */
INSIDE void transform(const int32_t *restrict given, float *restrict out, Py_ssize_t n)
{
    for (Py_ssize_t at = 0; at < n; at += BLOCK)
        for (int i = 0; i < LANES; i++) {
            float s, c, r = radius(given[at + i]);
            sine_and_cosine(given[at + LANES + i], &s, &c);
            out[at + i] = r * c;
            out[at + LANES + i] = r * s;
        }
}

INSIDE void fuse_floats(float *x, float b, float c, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        x[i] = fmaf(x[i], b, c);
}

INSIDE void fuse_doubles(double *x, double b, double c, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        x[i] = fma(x[i], b, c);
}

#if CHOOSES
FOR_FMA static void transform_there(const int32_t *restrict given, float *restrict out, Py_ssize_t n) { transform(given, out, n); }
FOR_FMA static void fuse_floats_there(float *x, float b, float c, Py_ssize_t n) { fuse_floats(x, b, c, n); }
FOR_FMA static void fuse_doubles_there(double *x, double b, double c, Py_ssize_t n) { fuse_doubles(x, b, c, n); }
#define RUN(what, ...) \
    (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? what##_there(__VA_ARGS__) : what(__VA_ARGS__))
#else
#define RUN(what, ...) what(__VA_ARGS__)
#endif

/* normals(integers, out): fills ``out`` with normal numbers made from integers of 24 bits. */
PyObject *speedups_normals(PyObject *module, PyObject *const *given, Py_ssize_t nargs)
{
    Py_buffer integers, out;
    if (two_arrays(given, nargs, "normals takes integers and the numbers to fill", &integers, PyBUF_SIMPLE, &out, PyBUF_WRITABLE) < 0)
        return NULL;
    int fits = integers.len == out.len && out.len % (BLOCK * (Py_ssize_t)sizeof(float)) == 0;
    if (fits) {
        Py_BEGIN_ALLOW_THREADS
        RUN(transform, integers.buf, out.buf, out.len / (Py_ssize_t)sizeof(float));
        Py_END_ALLOW_THREADS
    } else
        PyErr_SetString(PyExc_ValueError, "normals takes as many integers of 32 bits as numbers of float32, in blocks of 16");
    PyBuffer_Release(&out);
    PyBuffer_Release(&integers);
    return fits ? Py_NewRef(Py_None) : NULL;
}

/* fuse(x, b, c): computes x * b + c in place, rounded once. */
PyObject *speedups_fuse(PyObject *module, PyObject *const *given, Py_ssize_t nargs)
{
    Py_buffer x;
    if (nargs != 3)
        return PyErr_Format(PyExc_TypeError, "fuse takes an array and two numbers");
    double b = PyFloat_AsDouble(given[1]), c = PyFloat_AsDouble(given[2]);
    if (PyErr_Occurred() || PyObject_GetBuffer(given[0], &x, PyBUF_WRITABLE | PyBUF_FORMAT) < 0)
        return NULL;
    const char kind = x.format != NULL && x.format[0] != '\0' && x.format[1] == '\0' ? x.format[0] : ' ';
    if (kind == 'f' || kind == 'd') {
        Py_BEGIN_ALLOW_THREADS
        if (kind == 'f')
            RUN(fuse_floats, x.buf, (float)b, (float)c, x.len / (Py_ssize_t)sizeof(float));
        else
            RUN(fuse_doubles, x.buf, b, c, x.len / (Py_ssize_t)sizeof(double));
        Py_END_ALLOW_THREADS
    } else
        PyErr_SetString(PyExc_ValueError, "fuse takes an array of float32 or float64");
    PyBuffer_Release(&x);
    return kind == 'f' || kind == 'd' ? Py_NewRef(Py_None) : NULL;
}
