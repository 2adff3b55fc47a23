// Products of float32 matrices on the host. oneDNN computes shares of a product (shares.h). Python calls `multiply`
// of the extension module (library.cc).

#include <Python.h>

#include "product_shares.h"

#include <algorithm>

using namespace jtorch;

namespace {

// Several matrices of one shape, with their layout in memory. Strides count floats, not bytes.
struct Matrices {
    float *at;
    int64_t count, rows, columns, per_matrix, stride;
    bool is_transposed;

    // Reads the layout of an array. Returns false unless it is float32 with contiguous rows, or contiguous columns.
    bool take(const Py_buffer &array) {
        int n = array.ndim;
        if (n < 2 || !array.format || array.format[0] != 'f' || array.format[1] || array.itemsize != sizeof(float)) return false;
        const Py_ssize_t *shape = array.shape, *bytes = array.strides;
        at = static_cast<float *>(array.buf);
        rows = shape[n - 2], columns = shape[n - 1], count = 1, per_matrix = 0;
        int64_t row = bytes[n - 2] / 4, column = bytes[n - 1] / 4;
        if (bytes[n - 2] % 4 || bytes[n - 1] % 4) return false;
        for (int d = n - 3; d >= 0; d--) {
            if (shape[d] == 1) continue;
            if (bytes[d] % 4 || (count > 1 && bytes[d] / 4 != per_matrix * count)) return false;
            if (count == 1) per_matrix = bytes[d] / 4;
            count *= shape[d];
        }
        is_transposed = !(column == 1 && (row >= columns || rows == 1));
        if (is_transposed && !(row == 1 && (column >= rows || columns == 1))) return false;
        stride = std::max(is_transposed ? column : row, is_transposed ? rows : columns);
        return true;
    }

    float *place(int64_t matrix, int64_t row, int64_t column) const {
        return at + matrix * per_matrix + (is_transposed ? column * stride + row : row * stride + column);
    }
};

class Product : public Shares {
  public:
    Product(const Matrices &left, const Matrices &right, const Matrices &made, int64_t count)
        : Shares(count), left(left), right(right), made(made) {}

  private:
    void compute(int64_t k) override {
        Threads one_thread(1);
        if (made.count >= count) {
            for (int64_t n = start(k, made.count); n < start(k + 1, made.count); n++) multiply(n, 0, made.rows, 0, made.columns);
        } else {
            bool by_rows = made.rows >= made.columns;
            int64_t all = by_rows ? made.rows : made.columns, from = start(k, all, UNIT), to = start(k + 1, all, UNIT);
            for (int64_t n = 0; n < made.count; n++)
                by_rows ? multiply(n, from, to, 0, made.columns) : multiply(n, 0, made.rows, from, to);
        }
    }

    // Computes a block of product n: rows from `row` to `row_end`, columns from `column` to `column_end`.
    void multiply(int64_t n, int64_t row, int64_t row_end, int64_t column, int64_t column_end) const {
        if (row == row_end || column == column_end) return;
        CHECKED(dnnl_sgemm, left.is_transposed ? 'T' : 'N', right.is_transposed ? 'T' : 'N', row_end - row, column_end - column,
                left.columns, 1.0f, left.place(n, row, 0), left.stride, right.place(n, 0, column), right.stride, 0.0f,
                made.place(n, row, column), made.stride);
    }

    const Matrices left, right, made;
};

class Buffer {
  public:
    explicit Buffer(PyObject *array, int flags) : is_held(!PyObject_GetBuffer(array, &view, flags)) {}
    ~Buffer() {
        if (is_held) PyBuffer_Release(&view);
    }
    Buffer(const Buffer &) = delete;
    Py_buffer view;
    const bool is_held;
};

bool fit(const Matrices &left, const Matrices &right, const Matrices &made) {
    return left.count == made.count && right.count == made.count && left.rows == made.rows && right.columns == made.columns &&
           left.columns == right.rows && !made.is_transposed && left.columns > 0;
}

}  // namespace

// multiply(left, right, made) writes left @ right into made. It returns False, and computes nothing, for layouts that oneDNN
// does not take.
extern "C" PyObject *jtorch_multiply(PyObject *, PyObject *const *given, Py_ssize_t n) {
    if (n != 3) {
        PyErr_SetString(PyExc_TypeError, "multiply takes three arrays");
        return nullptr;
    }
    Buffer a(given[0], PyBUF_RECORDS_RO), b(given[1], PyBUF_RECORDS_RO), c(given[2], PyBUF_RECORDS);
    if (!a.is_held || !b.is_held || !c.is_held) return nullptr;
    Matrices left, right, made;
    if (!left.take(a.view) || !right.take(b.view) || !made.take(c.view) || !fit(left, right, made)) Py_RETURN_FALSE;
    double operations = 2.0 * made.count * made.rows * made.columns * left.columns;
    int64_t count = shares_of_work(operations, OF_A_PRODUCT, host_threads());
    std::string fault;
    Py_BEGIN_ALLOW_THREADS
    try {
        Shares::compute_on_host(std::make_shared<Product>(left, right, made, count));
    } catch (const Failed &failed) {
        fault = failed.why;
    }
    Py_END_ALLOW_THREADS
    if (fault.empty()) Py_RETURN_TRUE;
    PyErr_SetString(PyExc_MemoryError, fault.c_str());
    return nullptr;
}
