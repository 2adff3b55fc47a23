// Convolutions by oneDNN, for XLA's programs (a handler of its FFI) and for the host (a plain function).
//
// A convolution has three arrays, input, filters and result. Its kind says which of them is computed from the two others: the
// result, or one of the others as its gradient is, with the result's gradient in the place of the result. Its numbers are
//     kind, groups, n, the shapes of input, filters and result (n + 2 each), and for each of the n dimensions
//     stride, padding before, padding behind, dilation (n each).
// Arrays are float32, densely packed. What oneDNN makes for such numbers is kept: it takes longer to make than to run.

#include <Python.h>

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

enum Array { INPUT, FILTERS, RESULT };

constexpr size_t MAX_KEPT = 1024;
constexpr double OF_ONE_THREAD = 1e7;       // operations up to which waking others costs more: 7e6 took 0.11 ms with two, 0.08 with one
constexpr size_t ALIGNMENT = 64;

// oneDNN's and OpenMP's functions, taken from the library when it is loaded.
#define FUNCTIONS(F)                                                                                                            \
    F(dnnl_engine_create) F(dnnl_stream_create) F(dnnl_stream_wait) F(dnnl_version)                                             \
    F(dnnl_memory_desc_create_with_tag) F(dnnl_memory_desc_clone) F(dnnl_memory_desc_destroy) F(dnnl_memory_desc_equal)         \
    F(dnnl_memory_desc_get_size) F(dnnl_memory_create) F(dnnl_memory_destroy)                                                   \
    F(dnnl_primitive_attr_create) F(dnnl_primitive_attr_destroy) F(dnnl_primitive_attr_set_scratchpad_mode)                     \
    F(dnnl_convolution_forward_primitive_desc_create) F(dnnl_convolution_backward_data_primitive_desc_create)                   \
    F(dnnl_convolution_backward_weights_primitive_desc_create) F(dnnl_reorder_primitive_desc_create)                            \
    F(dnnl_primitive_desc_query) F(dnnl_primitive_desc_query_md) F(dnnl_primitive_desc_destroy)                                 \
    F(dnnl_primitive_create) F(dnnl_primitive_destroy) F(dnnl_primitive_execute)

extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int);
}

struct Library {
#define DECLARE(name) decltype(&::name) name;
    FUNCTIONS(DECLARE)
    DECLARE(omp_get_max_threads)
    DECLARE(omp_set_num_threads)
    dnnl_engine_t engine;
} one;

std::atomic<int> allowed{0};        // threads; 0: as many as OpenMP has

struct Failed {
    std::string why;
};

void check(dnnl_status_t status, const char *what) {
    if (status != dnnl_success) throw Failed{std::string("oneDNN: ") + what + " failed with status " + std::to_string(status)};
}
#define CHECKED(name, ...) check(one.name(__VA_ARGS__), #name)

template <typename T>
auto owned(T *handle, dnnl_status_t (*destroy)(T *)) {
    return std::shared_ptr<T>(handle, destroy);
}

// ---------------------------------------------------------------- what a convolution is

struct Numbers {
    int64_t kind, groups, n;
    const int64_t *shapes[3], *stride, *before, *behind, *dilation;

    explicit Numbers(const int64_t *at) : kind(at[0]), groups(at[1]), n(at[2]) {
        at += 3;
        for (auto &shape : shapes) shape = at, at += n + 2;
        for (auto each : {&stride, &before, &behind, &dilation}) *each = at, at += n;
    }

    static int64_t count(int64_t n) { return 3 + 3 * (n + 2) + 4 * n; }

    int64_t elements(Array array) const {
        int64_t found = 1;
        for (int64_t k = 0; k < n + 2; k++) found *= shapes[array][k];
        return found;
    }

    double operations() const {     // each element of the result is a sum over one filter
        return 2.0 * elements(RESULT) * elements(FILTERS) / shapes[FILTERS][0];
    }

    std::vector<dnnl_dim_t> dims(Array array) const {
        std::vector<dnnl_dim_t> found(shapes[array], shapes[array] + n + 2);
        if (array == FILTERS && groups > 1) {
            found[0] /= groups;
            found.insert(found.begin(), groups);
        }
        return found;
    }
};

std::shared_ptr<dnnl_memory_desc> described(const Numbers &numbers, Array array, bool as_it_lies) {
    static const dnnl_format_tag_t rows[] = {dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd, dnnl_abcde, dnnl_abcdef};
    auto dims = numbers.dims(array);
    dnnl_memory_desc_t made;
    CHECKED(dnnl_memory_desc_create_with_tag, &made, int(dims.size()), dims.data(), dnnl_f32,
            as_it_lies ? rows[dims.size() - 1] : dnnl_format_tag_any);
    return owned(made, one.dnnl_memory_desc_destroy);
}

// oneDNN's choice of a kernel for the kind, which says itself how its arrays should lie.
std::shared_ptr<dnnl_primitive_desc> chosen(const Numbers &numbers) {
    std::vector<dnnl_dim_t> dilation(numbers.dilation, numbers.dilation + numbers.n);
    for (auto &d : dilation) d--;
    auto x = described(numbers, INPUT, false), w = described(numbers, FILTERS, false), y = described(numbers, RESULT, false);
    dnnl_primitive_attr_t attr;
    CHECKED(dnnl_primitive_attr_create, &attr);
    auto attributes = owned(attr, one.dnnl_primitive_attr_destroy);
    CHECKED(dnnl_primitive_attr_set_scratchpad_mode, attr, dnnl_scratchpad_mode_user);     // oneDNN's own is a thread's
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

// Whether the kernel is one that oneDNN has written for this processor. The others are plain loops, or products of patches.
bool is_quick(const Numbers &numbers) {
    const char *name = nullptr;
    auto made = chosen(numbers);
    CHECKED(dnnl_primitive_desc_query, made.get(), dnnl_query_impl_info_str, 0, &name);
    std::string found(name);
    return (found.rfind("jit", 0) == 0 || found.rfind("brg", 0) == 0) && found.find("gemm") == std::string::npos;
}

// ---------------------------------------------------------------- running one

size_t rounded(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

dnnl_stream_t stream() {
    static thread_local dnnl_stream_t mine = nullptr;
    if (!mine) CHECKED(dnnl_stream_create, &mine, one.engine, dnnl_stream_default_flags);
    return mine;
}

void execute(dnnl_primitive_t primitive, std::vector<dnnl_exec_arg_t> arguments) {
    CHECKED(dnnl_primitive_execute, primitive, stream(), int(arguments.size()), arguments.data());
}

std::shared_ptr<dnnl_memory> memory(const_dnnl_memory_desc_t description, void *at) {
    dnnl_memory_t made;
    CHECKED(dnnl_memory_create, &made, description, one.engine, at);
    return owned(made, one.dnnl_memory_destroy);
}

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
        std::unique_ptr<char, decltype(&std::free)> block(nullptr, std::free);
        if (bytes) {
            block.reset(static_cast<char *>(std::aligned_alloc(ALIGNMENT, bytes)));
            if (!block) throw Failed{"oneDNN: not enough memory: you tried to allocate " + std::to_string(bytes) + " bytes."};
        }
        std::shared_ptr<dnnl_memory> given[3], used[3], scratch = memory(scratchpad.get(), block.get() + scratchpad_offset);
        std::vector<dnnl_exec_arg_t> arguments{{DNNL_ARG_SCRATCHPAD, scratch.get()}};
        for (int k = 0; k < 3; k++) {
            const Side &side = sides[k];
            given[k] = memory(side.lies.get(), arrays[k]);
            used[k] = side.moved ? memory(side.wanted.get(), block.get() + side.offset) : given[k];
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
    struct Side {       // an array: as it lies, as the kernel wants it, and what moves it from the one to the other
        int argument;
        std::shared_ptr<dnnl_memory_desc> lies, wanted;
        std::shared_ptr<dnnl_primitive> moved;
        size_t offset = 0;
    };

    static std::shared_ptr<dnnl_memory_desc> query(const_dnnl_primitive_desc_t found, int argument) {
        dnnl_memory_desc_t copy;
        CHECKED(dnnl_memory_desc_clone, &copy, one.dnnl_primitive_desc_query_md(found, dnnl_query_exec_arg_md, argument));
        return owned(copy, one.dnnl_memory_desc_destroy);
    }

    static std::shared_ptr<dnnl_primitive> created(const_dnnl_primitive_desc_t found) {
        dnnl_primitive_t made;
        CHECKED(dnnl_primitive_create, &made, found);
        return owned(made, one.dnnl_primitive_destroy);
    }

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

std::mutex lock;            // of what is kept
bool is_forked = false;     // then OpenMP's threads are those of the parent, and waiting for them would never end

// A kernel divides its work among as many threads as there were when it was made.
std::shared_ptr<Convolution> kept(const Numbers &numbers, const int64_t *from, int threads) {
    static std::map<std::vector<int64_t>, std::shared_ptr<Convolution>> made;
    std::vector<int64_t> key(from, from + Numbers::count(numbers.n));
    key.push_back(threads);
    std::lock_guard<std::mutex> guard(lock);
    auto found = made.find(key);
    if (found != made.end()) return found->second;
    auto convolution = std::make_shared<Convolution>(numbers);
    if (made.size() >= MAX_KEPT) made.clear();
    return made[key] = convolution;
}

class Threads {     // so many threads of OpenMP in this block
  public:
    explicit Threads(double operations) : before(one.omp_get_max_threads()) {
        int most = allowed.load();
        count = is_forked || operations <= OF_ONE_THREAD ? 1 : most && most < before ? most : before;
        if (count != before) one.omp_set_num_threads(count);
    }
    ~Threads() {
        if (count != before) one.omp_set_num_threads(before);
    }
    Threads(const Threads &) = delete;
    int count;

  private:
    int before;
};

void convolve(const int64_t *from, void *const given[2], void *made) {
    Numbers numbers(from);
    Threads threads(numbers.operations());
    void *arrays[3];
    for (int k = 0, next = 0; k < 3; k++) arrays[k] = k == numbers.kind ? made : given[next++];
    kept(numbers, from, threads.count)->run(arrays);
}

ffi::Error handle(ffi::Span<const int64_t> numbers, ffi::AnyBuffer a, ffi::AnyBuffer b, ffi::Result<ffi::AnyBuffer> made) {
    try {
        void *given[2] = {a.untyped_data(), b.untyped_data()};
        convolve(numbers.begin(), given, made->untyped_data());
        return ffi::Error::Success();
    } catch (const Failed &failed) {
        return ffi::Error::Internal(failed.why);
    }
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(jtorch_onednn_handler, handle,
                              ffi::Ffi::Bind().Attr<ffi::Span<const int64_t>>("numbers").Arg<ffi::AnyBuffer>()
                                  .Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

extern "C" {

// The library's version (30200 for 3.2.0), or 0 if it can't be loaded or lacks a function.
int jtorch_onednn_load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return 0;
#define TAKE(name)                                                        \
    one.name = reinterpret_cast<decltype(one.name)>(dlsym(library, #name)); \
    if (!one.name) return 0;
    FUNCTIONS(TAKE)
    TAKE(omp_get_max_threads)
    TAKE(omp_set_num_threads)
    if (one.dnnl_engine_create(&one.engine, dnnl_cpu, 0) != dnnl_success) return 0;
    pthread_atfork([] { lock.lock(); }, [] { lock.unlock(); }, [] { lock.unlock(), is_forked = true; });
    const dnnl_version_t *version = one.dnnl_version();
    return version->major * 10000 + version->minor * 100 + version->patch;
}

void jtorch_onednn_use_threads(int n) { allowed = n; }

// Whether oneDNN has a quick kernel for these numbers.
int jtorch_onednn_is_quick(const int64_t *numbers) {
    try {
        return is_quick(Numbers(numbers));
    } catch (const Failed &) {
        return 0;
    }
}

// A module without contents: what walks over packages imports what looks like one. The functions are called through ctypes.
PyMODINIT_FUNC PyInit__convolution() {
    static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_convolution", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};
    return PyModule_Create(&definition);
}

// 1 if that went well.
int jtorch_onednn_convolve(const int64_t *numbers, void *a, void *b, void *made) {
    try {
        void *given[2] = {a, b};
        convolve(numbers, given, made);
        return 1;
    } catch (const Failed &) {
        return 0;
    }
}

}  // extern "C"
