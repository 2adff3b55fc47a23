// Convolutions by oneDNN, for XLA's programs (an FFI handler) and for the host (a plain function).
//
// A convolution has three arrays: input, filters and result. Its kind names the array that is computed from the two others. For a
// gradient of the input or the filters, the result's gradient stands in place of the result. Arrays are float32 and densely
// packed. oneDNN's primitives are cached, because creating one takes longer than running it.
//
// Each thread computes some of the images (shares.h). If the shares would be uneven, the threads of OpenMP divide the work.

#include "filters.h"
#include "shares.h"

#include <pthread.h>

#include <algorithm>

using namespace jtorch;

std::atomic<int> jtorch::allowed{0};

namespace {

// operations up to which one thread runs a convolution; a larger value leaves more convolutions to one thread
constexpr double OF_ONE_THREAD = 1e7;
// images per thread from which uneven shares are accepted; a larger value leaves more convolutions to OpenMP
constexpr int64_t EVEN = 4;
// the most numbers in the shares' gradients of the filters; a larger value uses more memory
constexpr int64_t MOST_SUMS = 1 << 24;

// ---------------------------------------------------------------- oneDNN's choice

std::vector<dnnl_dim_t> dims_of(const Numbers &numbers, Array array) {
    std::vector<dnnl_dim_t> found(numbers.shapes[array], numbers.shapes[array] + numbers.n + 2);
    if (array == FILTERS && numbers.groups > 1) {
        found[0] /= numbers.groups;
        found.insert(found.begin(), numbers.groups);
    }
    return found;
}

std::shared_ptr<dnnl_memory_desc> described(const Numbers &numbers, Array array, bool as_it_lies) {
    static const dnnl_format_tag_t rows[] = {dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd, dnnl_abcde, dnnl_abcdef};
    auto dims = dims_of(numbers, array);
    dnnl_memory_desc_t made;
    CHECKED(dnnl_memory_desc_create_with_tag, &made, int(dims.size()), dims.data(), dnnl_f32,
            as_it_lies ? rows[dims.size() - 1] : dnnl_format_tag_any);
    return owned(made, one.dnnl_memory_desc_destroy);
}

// Returns oneDNN's choice of a kernel for the kind. The kernel chooses the layouts of its arrays.
std::shared_ptr<dnnl_primitive_desc> chosen(const Numbers &numbers) {
    std::vector<dnnl_dim_t> dilation(numbers.dilation, numbers.dilation + numbers.n);
    for (auto &d : dilation) d--;
    auto x = described(numbers, INPUT, false), w = described(numbers, FILTERS, false), y = described(numbers, RESULT, false);
    auto owner = attributes();
    auto attr = owner.get();
    dnnl_primitive_desc_t made;
    CHECKED(dnnl_convolution_forward_primitive_desc_create, &made, one.engine, dnnl_forward_training, dnnl_convolution_direct,
            x.get(), w.get(), nullptr, y.get(), numbers.stride, dilation.data(), numbers.before, numbers.behind, attr);
    auto forward = owned(made, one.dnnl_primitive_desc_destroy);
    if (numbers.kind == RESULT) return forward;
    if (numbers.kind == INPUT)
        CHECKED(dnnl_convolution_backward_data_primitive_desc_create, &made, one.engine, dnnl_convolution_direct, x.get(),
                w.get(), y.get(), numbers.stride, dilation.data(), numbers.before, numbers.behind, forward.get(), attr);
    else
        CHECKED(dnnl_convolution_backward_weights_primitive_desc_create, &made, one.engine, dnnl_convolution_direct, x.get(),
                w.get(), nullptr, y.get(), numbers.stride, dilation.data(), numbers.before, numbers.behind, forward.get(), attr);
    return owned(made, one.dnnl_primitive_desc_destroy);
}

// Tells whether oneDNN has a specialized kernel for this processor. Its other kernels are plain loops, or products of patches.
bool is_quick(const Numbers &numbers) {
    const char *name = nullptr;
    auto made = chosen(numbers);
    CHECKED(dnnl_primitive_desc_query, made.get(), dnnl_query_impl_info_str, 0, &name);
    std::string found(name);
    return (found.rfind("jit", 0) == 0 || found.rfind("brg", 0) == 0) && found.find("gemm") == std::string::npos;
}

// ---------------------------------------------------------------- running one

class Convolution {
  public:
    explicit Convolution(const Numbers &numbers) : kind(Array(numbers.kind)) {
        auto found = chosen(numbers);
        static const int gradients[] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST};
        static const int values[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
        for (Array array : {INPUT, FILTERS, RESULT}) {
            bool is_gradient = kind != RESULT && (array == kind || array == RESULT);
            Side &side = sides[array];
            side.argument = is_gradient ? gradients[array] : values[array];
            side.lies = described(numbers, array, true);
            side.wanted = query(found.get(), side.argument);
            if (one.dnnl_memory_desc_equal(side.wanted.get(), side.lies.get())) continue;
            side.moved = array == kind ? reorder(side.wanted, side.lies) : reorder(side.lies, side.wanted);
            side.offset = bytes;
            bytes += rounded(one.dnnl_memory_desc_get_size(side.wanted.get()));
        }
        scratchpad = query(found.get(), DNNL_ARG_SCRATCHPAD);
        scratchpad_offset = bytes;
        bytes += rounded(one.dnnl_memory_desc_get_size(scratchpad.get()));
        primitive = created(found.get());
    }

    void run(void *const arrays[3]) const {
        Scratch block(bytes);
        std::shared_ptr<dnnl_memory> given[3], used[3], scratch = memory(scratchpad.get(), block.at + scratchpad_offset);
        std::vector<dnnl_exec_arg_t> arguments{{DNNL_ARG_SCRATCHPAD, scratch.get()}};
        for (int k = 0; k < 3; k++) {
            const Side &side = sides[k];
            given[k] = memory(side.lies.get(), arrays[k]);
            used[k] = side.moved ? memory(side.wanted.get(), block.at + side.offset) : given[k];
            if (side.moved && k != kind)
                execute(side.moved.get(), {{DNNL_ARG_FROM, given[k].get()}, {DNNL_ARG_TO, used[k].get()}});
            arguments.push_back({side.argument, used[k].get()});
        }
        execute(primitive.get(), arguments);
        if (sides[kind].moved)
            execute(sides[kind].moved.get(), {{DNNL_ARG_FROM, used[kind].get()}, {DNNL_ARG_TO, given[kind].get()}});
        CHECKED(dnnl_stream_wait, stream());
    }

  private:
    struct Side {       // an array: its layout, the layout that the kernel wants, and the reorder between the two
        int argument;
        std::shared_ptr<dnnl_memory_desc> lies, wanted;
        std::shared_ptr<dnnl_primitive> moved;
        size_t offset = 0;
    };

    static std::shared_ptr<dnnl_primitive> reorder(std::shared_ptr<dnnl_memory_desc> from, std::shared_ptr<dnnl_memory_desc> to) {
        dnnl_primitive_desc_t made;
        CHECKED(dnnl_reorder_primitive_desc_create, &made, from.get(), one.engine, to.get(), one.engine, nullptr);
        return created(owned(made, one.dnnl_primitive_desc_destroy).get());
    }

    Array kind;
    Side sides[3];
    std::shared_ptr<dnnl_memory_desc> scratchpad;
    std::shared_ptr<dnnl_primitive> primitive;
    size_t bytes = 0, scratchpad_offset = 0;
};

Kept<Convolution> kept;
Kept<bool> quick;

// Tells whether filters.cc computes a convolution: it can, and oneDNN has no quick kernel.
bool is_for_loops(const Numbers &numbers) {
    if (!are_small_groups(numbers)) return false;
    std::vector<int64_t> key(numbers.from, numbers.from + Numbers::count(numbers.n));
    return !*quick.get(key, [&] { return std::make_shared<bool>(is_quick(numbers)); });
}

struct Arrays {
    float *at[3];

    Arrays(int64_t kind, void *const given[2], void *made) {
        for (int k = 0, next = 0; k < 3; k++) at[k] = static_cast<float *>(k == kind ? made : given[next++]);
    }
};

void run(const Numbers &numbers, const Arrays &arrays, int count) {
    Threads threads(count);
    std::vector<int64_t> key(numbers.from, numbers.from + Numbers::count(numbers.n));
    key.push_back(count);       // a kernel divides its work among the number of threads set when the kernel was made
    void *const at[] = {arrays.at[0], arrays.at[1], arrays.at[2]};
    kept.get(key, [&] { return std::make_shared<Convolution>(numbers); })->run(at);
}

// Computes a convolution in the threads of OpenMP.
void convolve(const Numbers &numbers, const Arrays &arrays) {
    run(numbers, arrays, numbers.operations() <= OF_ONE_THREAD ? 1 : host_threads());
}

// A convolution in shares: each computes some of the images in one thread. The filters' gradient is the sum over the shares.
class OfImages : public Shares {
  public:
    OfImages(const Numbers &is, const Arrays &arrays, int64_t count)
        : Shares(count), is(is), arrays(arrays), filters(is.elements(FILTERS)),
          sums(is.kind == FILTERS ? (count - 1) * filters * sizeof(float) : 0) {}

  private:
    void compute(int64_t k) override {
        int64_t images = is.shapes[INPUT][0], first = start(k, images), some = start(k + 1, images) - first;
        std::vector<int64_t> row(is.from, is.from + Numbers::count(is.n));
        auto mine = arrays;
        for (Array array : {INPUT, RESULT}) {
            row[is.shapes[array] - is.from] = some;
            mine.at[array] += first * is.elements(array) / images;
        }
        if (is.kind == FILTERS && k) mine.at[FILTERS] = sum(k);
        run(Numbers(row.data()), mine, 1);
    }

    void finish() override {
        if (is.kind != FILTERS) return;
        for (int64_t k = 1; k < count; k++)
            for (int64_t i = 0; i < filters; i++) arrays.at[FILTERS][i] += sum(k)[i];
    }

    float *sum(int64_t k) const { return reinterpret_cast<float *>(sums.at) + (k - 1) * filters; }

    const Numbers is;
    const Arrays arrays;
    const int64_t filters;
    const Block sums;
};

// Returns the number of shares in which a convolution is computed; 0 if shares would be uneven, or take much memory.
int64_t shares_of(const Numbers &is, int64_t threads) {
    int64_t images = is.shapes[INPUT][0];
    if (threads <= 1 || is.operations() <= OF_ONE_THREAD) return 1;
    if (images % threads && images < EVEN * threads) return 0;
    return is.kind == FILTERS && (threads - 1) * is.elements(FILTERS) > MOST_SUMS ? 0 : threads;
}

ffi::Future handle(ffi::ThreadPool pool, ffi::Span<const int64_t> numbers, ffi::AnyBuffer a, ffi::AnyBuffer b,
                   ffi::Result<ffi::AnyBuffer> made) try {
    Numbers is(numbers.begin());
    void *given[2] = {a.untyped_data(), b.untyped_data()};
    Arrays arrays(is.kind, given, made->untyped_data());
    if (is_for_loops(is)) return filters_of_groups(is, arrays.at[INPUT], arrays.at[RESULT], arrays.at[FILTERS], pool);
    int64_t count = shares_of(is, threads_of(pool));
    if (count) return Shares::computed(std::make_shared<OfImages>(is, arrays, count), pool);
    convolve(is, arrays);
    ffi::Promise done;
    done.SetAvailable();
    return ffi::Future(done);
} catch (const Failed &failed) {
    ffi::Promise done;
    done.SetError(ffi::Error::Internal(failed.why));
    return ffi::Future(done);
}

}  // namespace

void jtorch::prepare_convolutions_for_forks() {
    pthread_atfork([] { kept.lock.lock(), quick.lock.lock(); }, [] { quick.lock.unlock(), kept.lock.unlock(); },
                   [] { quick.lock.unlock(), kept.lock.unlock(); });
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(jtorch_onednn_convolution, handle,
                              ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Attr<ffi::Span<const int64_t>>("numbers").Arg<ffi::AnyBuffer>()
                                  .Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

extern "C" {

void jtorch_onednn_use_threads(int n) { allowed = n; }

// Tells whether oneDNN, or filters.cc, has a quick kernel for these numbers.
int jtorch_onednn_is_quick(const int64_t *numbers) {
    try {
        Numbers is(numbers);
        return is_quick(is) || are_small_groups(is);
    } catch (const Failed &) {
        return 0;
    }
}

// Computes a convolution on the host: 1 if it succeeded, else 0.
int jtorch_onednn_convolve(const int64_t *numbers, void *a, void *b, void *made) {
    try {
        void *given[2] = {a, b};
        Numbers is(numbers);
        Arrays arrays(is.kind, given, made);
        if (is_for_loops(is)) {
            filters_of_groups(is, arrays.at[INPUT], arrays.at[RESULT], arrays.at[FILTERS]);
        } else if (int64_t count = shares_of(is, host_threads())) {
            Shares::compute_on_host(std::make_shared<OfImages>(is, arrays, count));
        } else {
            convolve(is, arrays);
        }
        return 1;
    } catch (const Failed &) {
        return 0;
    }
}

}  // extern "C"
