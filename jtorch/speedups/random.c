/* Draws words of MT19937 from the state that NumPy keeps, and swaps elements of arrays. NumPy's integers() gives the same
   words, but slower.

   The recurrence and the constants are those of M. Matsumoto, T. Nishimura, "Mersenne Twister" (1998). */

#include "speedups.h"

enum { WORDS = 624, APART = 397 };

static uint32_t mixed(uint32_t high, uint32_t low)
{
    uint32_t y = (high & 0x80000000u) | (low & 0x7fffffffu);
    return (y >> 1) ^ (-(low & 1u) & 0x9908b0dfu);
}

/* Computes the next state. The loops read no word that was written less than 227 words ago, so the compiler vectorizes them. */
__attribute__((optimize("O3"))) static void twist(uint32_t *key)
{
    for (int i = 0; i < WORDS - APART; i++)
        key[i] = key[i + APART] ^ mixed(key[i], key[i + 1]);
    for (int i = WORDS - APART; i < WORDS - 1; i++)
        key[i] = key[i + APART - WORDS] ^ mixed(key[i], key[i + 1]);
    key[WORDS - 1] = key[APART - 1] ^ mixed(key[WORDS - 1], key[0]);
}

__attribute__((optimize("O3"))) static void temper(const uint32_t *key, uint32_t *out, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        uint32_t y = key[i];
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680u;
        y ^= (y << 15) & 0xefc60000u;
        out[i] = y ^ (y >> 18);
    }
}

static void draw(uint32_t *state, uint32_t *out, Py_ssize_t n)
{
    while (n > 0) {
        if (state[WORDS] >= WORDS) {
            twist(state);
            state[WORDS] = 0;
        }
        Py_ssize_t some = Py_MIN(n, WORDS - (Py_ssize_t)state[WORDS]);
        temper(state + state[WORDS], out, some);
        state[WORDS] += (uint32_t)some;
        out += some;
        n -= some;
    }
}

/* Gets the buffers of two arrays, the only arguments of a function. ``takes`` is the error's text. 0, or -1 with an error. */
int two_arrays(PyObject *const *given, Py_ssize_t nargs, const char *takes, Py_buffer *a, int a_flags, Py_buffer *b, int b_flags)
{
    if (nargs != 2) {
        PyErr_SetString(PyExc_TypeError, takes);
        return -1;
    }
    if (PyObject_GetBuffer(given[0], a, a_flags) < 0)
        return -1;
    if (PyObject_GetBuffer(given[1], b, b_flags) < 0) {
        PyBuffer_Release(a);
        return -1;
    }
    return 0;
}

/* draw_words(state, out): fills ``out`` with the next words, and advances the state. */
PyObject *speedups_draw_words(PyObject *module, PyObject *const *given, Py_ssize_t nargs)
{
    Py_buffer state, out;
    if (two_arrays(given, nargs, "draw_words takes a state and the words to fill", &state, PyBUF_WRITABLE, &out, PyBUF_WRITABLE) < 0)
        return NULL;
    int fits = state.len == (WORDS + 1) * (Py_ssize_t)sizeof(uint32_t) && out.len % (Py_ssize_t)sizeof(uint32_t) == 0;
    if (fits) {
        Py_BEGIN_ALLOW_THREADS
        draw(state.buf, out.buf, out.len / (Py_ssize_t)sizeof(uint32_t));
        Py_END_ALLOW_THREADS
    } else
        PyErr_SetString(PyExc_ValueError, "draw_words takes 625 words of 32 bits, and memory for more of them");
    PyBuffer_Release(&out);
    PyBuffer_Release(&state);
    return fits ? Py_NewRef(Py_None) : NULL;
}

static int swap(int64_t *out, const int64_t *others, Py_ssize_t n, Py_ssize_t swaps)
{
    for (Py_ssize_t i = 0; i < swaps; i++) {
        if (others[i] < 0 || others[i] >= n)
            return -1;
        int64_t there = out[others[i]];
        out[others[i]] = out[i];
        out[i] = there;
    }
    return 0;
}

/* swap_places(out, others): swaps element i of ``out`` with element others[i], for each i in order. */
PyObject *speedups_swap_places(PyObject *module, PyObject *const *given, Py_ssize_t nargs)
{
    Py_buffer out, others;
    if (two_arrays(given, nargs, "swap_places takes numbers and the places to swap them with", &out, PyBUF_WRITABLE, &others,
                   PyBUF_SIMPLE) < 0)
        return NULL;
    Py_ssize_t size = sizeof(int64_t);
    int bad = out.len % size || others.len % size || others.len > out.len;
    if (!bad) {
        Py_BEGIN_ALLOW_THREADS
        bad = swap(out.buf, others.buf, out.len / size, others.len / size);
        Py_END_ALLOW_THREADS
    }
    if (bad)
        PyErr_SetString(PyExc_ValueError, "swap_places takes numbers of 64 bits, and at most as many places among them");
    PyBuffer_Release(&others);
    PyBuffer_Release(&out);
    return bad ? NULL : Py_NewRef(Py_None);
}
