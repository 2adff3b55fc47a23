// Products of float32 matrices by oneDNN, in the threads of the XLA program that contains them.
//
// The numbers of a product are its count of matrices, rows, columns, length of a sum, and whether the left and the right matrices
// are transposed. Arrays are densely packed.
//
// A large product is computed in shares (shares.h). A oneDNN kernel computes each share in one thread.

#include "product_shares.h"

#include <algorithm>

using namespace jtorch;

namespace {

struct Numbers {
    int64_t count, rows, columns, length;
    bool left_transposed, right_transposed;

    explicit Numbers(ffi::Span<const int64_t> at)
        : count(at[0]), rows(at[1]), columns(at[2]), length(at[3]), left_transposed(at[4]), right_transposed(at[5]) {}

    double operations() const { return 2.0 * count * rows * columns * length; }
};

struct Size {       // the sizes of a batch of matrices, and the strides of its three dimensions
    int64_t count, rows, columns, per_matrix, per_row, per_column;

    std::shared_ptr<dnnl_memory_desc> description() const {
        dnnl_dims_t dims{count, rows, columns}, strides{per_matrix, per_row, per_column};
        dnnl_memory_desc_t made;
        CHECKED(dnnl_memory_desc_create_with_strides, &made, 3, dims, dnnl_f32, strides);
        return owned(made, one.dnnl_memory_desc_destroy);
    }
};

Size densely(int64_t count, int64_t rows, int64_t columns, bool transposed) {
    return {count, rows, columns, rows * columns, transposed ? 1 : columns, transposed ? rows : 1};
}

class Kernel {      // a oneDNN product that runs in one thread
  public:
    Kernel(const Size &left, const Size &right, const Size &made)
        : sides{left.description(), right.description(), made.description()} {
        auto attr = attributes();
        dnnl_primitive_desc_t found;
        CHECKED(dnnl_matmul_primitive_desc_create, &found, one.engine, sides[0].get(), sides[1].get(), nullptr, sides[2].get(),
                attr.get());
        auto description = owned(found, one.dnnl_primitive_desc_destroy);
        scratchpad = query(found, DNNL_ARG_SCRATCHPAD);
        bytes = rounded(one.dnnl_memory_desc_get_size(scratchpad.get()));
        primitive = created(found);
    }

    void run(const float *left, const float *right, float *made) const {
        Scratch scratch(bytes);
        auto a = memory(sides[0].get(), const_cast<float *>(left)), b = memory(sides[1].get(), const_cast<float *>(right));
        auto c = memory(sides[2].get(), made), used = memory(scratchpad.get(), scratch.at);
        execute(primitive.get(), {{DNNL_ARG_SRC, a.get()}, {DNNL_ARG_WEIGHTS, b.get()}, {DNNL_ARG_DST, c.get()},
                                  {DNNL_ARG_SCRATCHPAD, used.get()}});
        CHECKED(dnnl_stream_wait, stream());
    }

  private:
    std::shared_ptr<dnnl_memory_desc> sides[3], scratchpad;
    std::shared_ptr<dnnl_primitive> primitive;
    size_t bytes;
};

Kept<Kernel> kept;

std::shared_ptr<Kernel> kernel(const Size &left, const Size &right, const Size &made) {
    std::vector<int64_t> key;
    for (const Size *size : {&left, &right, &made})
        key.insert(key.end(), {size->count, size->rows, size->columns, size->per_matrix, size->per_row, size->per_column});
    return kept.get(key, [&] { return std::make_shared<Kernel>(left, right, made); });
}

class Product : public Shares {
  public:
    Product(const Numbers &is, const float *left, const float *right, float *made, int64_t threads)
        : Shares(shares_of_work(is.operations(), OF_A_PRODUCT, threads)), left(left), right(right),
          made(made), of_left(densely(is.count, is.rows, is.length, is.left_transposed)),
          of_right(densely(is.count, is.length, is.columns, is.right_transposed)),
          of_made(densely(is.count, is.rows, is.columns, false)) {}

  private:
    void compute(int64_t k) override {
        Threads one_thread(1);
        Size a = of_left, b = of_right, c = of_made;
        int64_t from;
        if (c.count >= count) {
            from = part(k, 1, {&a.count, &b.count, &c.count});
            kernel(a, b, c)->run(left + from * a.per_matrix, right + from * b.per_matrix, made + from * c.per_matrix);
        } else if (c.rows >= c.columns) {
            from = part(k, UNIT, {&a.rows, &c.rows});
            if (c.rows) kernel(a, b, c)->run(left + from * a.per_row, right, made + from * c.per_row);
        } else {
            from = part(k, UNIT, {&b.columns, &c.columns});
            if (c.columns) kernel(a, b, c)->run(left, right + from * b.per_column, made + from);
        }
    }

    // Returns the start of share k along a dimension, and sets `sizes` to the length of the share.
    int64_t part(int64_t k, int64_t unit, std::initializer_list<int64_t *> sizes) const {
        int64_t all = **sizes.begin();
        for (int64_t *size : sizes) *size = start(k + 1, all, unit) - start(k, all, unit);
        return start(k, all, unit);
    }

    const float *const left, *const right;
    float *const made;
    const Size of_left, of_right, of_made;
};

using Row = ffi::Span<const int64_t>;
using Array = ffi::AnyBuffer;

std::shared_ptr<Product> product(Row numbers, Array left, Array right, ffi::Result<Array> made, int64_t threads) {
    return std::make_shared<Product>(Numbers(numbers), static_cast<const float *>(left.untyped_data()),
                                     static_cast<const float *>(right.untyped_data()), static_cast<float *>(made->untyped_data()),
                                     threads);
}

ffi::Error alone(Row numbers, Array left, Array right, ffi::Result<Array> made) {
    return product(numbers, left, right, made, 1)->share(0);
}

ffi::Future in_shares(ffi::ThreadPool pool, Row numbers, Array left, Array right, ffi::Result<Array> made) {
    return Shares::computed(product(numbers, left, right, made, threads_of(pool)), pool);
}

}  // namespace

#define ARRAYS Attr<Row>("numbers").Arg<Array>().Arg<Array>().Ret<Array>()

XLA_FFI_DEFINE_HANDLER_SYMBOL(jtorch_onednn_product, alone, ffi::Ffi::Bind().ARRAYS);
XLA_FFI_DEFINE_HANDLER_SYMBOL(jtorch_onednn_shared_product, in_shares, ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().ARRAYS);
