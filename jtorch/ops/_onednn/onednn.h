// The functions of oneDNN and OpenMP that jtorch calls, looked up when the library is loaded (library.cc).
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int);
}

namespace jtorch {

#define FUNCTIONS(F)                                                                                                            \
    F(dnnl_engine_create) F(dnnl_stream_create) F(dnnl_stream_wait) F(dnnl_version)                                             \
    F(dnnl_memory_desc_create_with_tag) F(dnnl_memory_desc_create_with_strides) F(dnnl_memory_desc_clone) F(dnnl_memory_desc_destroy) F(dnnl_memory_desc_equal)         \
    F(dnnl_memory_desc_get_size) F(dnnl_memory_create) F(dnnl_memory_destroy)                                                   \
    F(dnnl_primitive_attr_create) F(dnnl_primitive_attr_destroy) F(dnnl_primitive_attr_set_scratchpad_mode)                     \
    F(dnnl_convolution_forward_primitive_desc_create) F(dnnl_convolution_backward_data_primitive_desc_create)                   \
    F(dnnl_convolution_backward_weights_primitive_desc_create) F(dnnl_reorder_primitive_desc_create)                            \
    F(dnnl_matmul_primitive_desc_create) F(dnnl_sgemm)                                                                          \
    F(dnnl_primitive_desc_query) F(dnnl_primitive_desc_query_md) F(dnnl_primitive_desc_destroy)                                 \
    F(dnnl_primitive_create) F(dnnl_primitive_destroy) F(dnnl_primitive_execute)

struct Library {
#define DECLARE(name) decltype(&::name) name;
    FUNCTIONS(DECLARE)
    DECLARE(omp_get_max_threads)
    DECLARE(omp_set_num_threads)
    dnnl_engine_t engine;
};
extern Library one;

struct Failed {
    std::string why;
};

inline void check(dnnl_status_t status, const char *what) {
    if (status != dnnl_success) throw Failed{std::string("oneDNN: ") + what + " failed with status " + std::to_string(status)};
}
#define CHECKED(name, ...) check(one.name(__VA_ARGS__), #name)

template <typename T>
auto owned(T *handle, dnnl_status_t (*destroy)(T *)) {
    return std::shared_ptr<T>(handle, destroy);
}

// ---------------------------------------------------------------- making and running primitives

constexpr size_t ALIGNMENT = 64;        // bytes

inline size_t rounded(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

inline dnnl_stream_t stream() {
    static thread_local dnnl_stream_t mine = nullptr;
    if (!mine) CHECKED(dnnl_stream_create, &mine, one.engine, dnnl_stream_default_flags);
    return mine;
}

inline void execute(dnnl_primitive_t primitive, std::vector<dnnl_exec_arg_t> arguments) {
    CHECKED(dnnl_primitive_execute, primitive, stream(), int(arguments.size()), arguments.data());
}

inline std::shared_ptr<dnnl_memory> memory(const_dnnl_memory_desc_t description, void *at) {
    dnnl_memory_t made;
    CHECKED(dnnl_memory_create, &made, description, one.engine, at);
    return owned(made, one.dnnl_memory_destroy);
}

inline std::shared_ptr<dnnl_primitive_attr> attributes() {
    dnnl_primitive_attr_t made;
    CHECKED(dnnl_primitive_attr_create, &made);
    auto found = owned(made, one.dnnl_primitive_attr_destroy);
    // We allocate the scratchpad, since oneDNN's own scratchpad belongs to one thread.
    CHECKED(dnnl_primitive_attr_set_scratchpad_mode, made, dnnl_scratchpad_mode_user);
    return found;
}

inline std::shared_ptr<dnnl_memory_desc> query(const_dnnl_primitive_desc_t found, int argument) {
    dnnl_memory_desc_t copy;
    CHECKED(dnnl_memory_desc_clone, &copy, one.dnnl_primitive_desc_query_md(found, dnnl_query_exec_arg_md, argument));
    return owned(copy, one.dnnl_memory_desc_destroy);
}

inline std::shared_ptr<dnnl_primitive> created(const_dnnl_primitive_desc_t found) {
    dnnl_primitive_t made;
    CHECKED(dnnl_primitive_create, &made, found);
    return owned(made, one.dnnl_primitive_destroy);
}

class Block {       // aligned memory for intermediate values; no memory for 0 bytes
  public:
    explicit Block(size_t bytes) : at(bytes ? static_cast<char *>(std::aligned_alloc(ALIGNMENT, bytes)) : nullptr) {
        if (bytes && !at) throw Failed{"oneDNN: not enough memory: you tried to allocate " + std::to_string(bytes) + " bytes."};
    }
    ~Block() { std::free(at); }
    Block(const Block &) = delete;
    char *const at;
};

// Scratch memory of a kernel. A thread keeps its scratch memory up to MOST bytes, because mapping new memory each time is slow.
class Scratch {
  public:
    explicit Scratch(size_t bytes) : own(bytes > MOST ? bytes : 0), at(bytes > MOST ? own.at : kept(bytes)) {}

  private:
    static constexpr size_t MOST = 16 << 20;

    static char *kept(size_t bytes) {
        static thread_local std::unique_ptr<Block> mine;
        static thread_local size_t size = 0;
        if (bytes > size) {
            size = 0, mine.reset();
            mine = std::make_unique<Block>(bytes);
            size = bytes;
        }
        return mine ? mine->at : nullptr;
    }

    const Block own;

  public:
    char *const at;
};

// A cache whose keys are rows of numbers, for objects that take longer to make than to use.
template <typename T>
class Kept {
  public:
    template <typename F>
    std::shared_ptr<T> get(const std::vector<int64_t> &key, F make) {
        std::lock_guard<std::mutex> guard(lock);
        auto found = made.find(key);
        if (found != made.end()) return found->second;
        std::shared_ptr<T> fresh = make();
        if (made.size() >= MOST) made.clear();
        return made[key] = fresh;
    }
    std::mutex lock;

  private:
    static constexpr size_t MOST = 1024;
    std::map<std::vector<int64_t>, std::shared_ptr<T>> made;
};

class Threads {     // sets the number of OpenMP threads for the calls of this thread until it is destroyed
  public:
    explicit Threads(int count) : count(count), before(one.omp_get_max_threads()) {
        if (count != before) one.omp_set_num_threads(count);
    }
    ~Threads() {
        if (count != before) one.omp_set_num_threads(before);
    }
    Threads(const Threads &) = delete;
    const int count;

  private:
    const int before;
};

void prepare_convolutions_for_forks();      // convolution.cc

}  // namespace jtorch
