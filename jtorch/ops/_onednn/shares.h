// Work in shares, which threads of a pool compute: XLA's in a program, our own on the host (host_pool.h).
//
// The calling thread takes shares until none is left. Threads of the pool that have nothing else to do take some too. In a
// program the last thread goes on with the program. So nobody waits for a thread that does something else, as with OpenMP.
// The numbers of a share do not depend on the thread that computes it.
#pragma once

#include "host_pool.h"
#include "onednn.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "xla/ffi/api/ffi.h"

namespace jtorch {

namespace ffi = xla::ffi;

extern std::atomic<int> allowed;        // threads that an op may use; 0: as many as there are (convolution.cc)

inline int64_t threads_of(const ffi::ThreadPool &pool) {
    int64_t most = allowed.load(), all = pool.num_threads();
    return most ? std::min(most, all) : all;
}

inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

class Shares {
  public:
    explicit Shares(int64_t count) : count(count), remaining(count) {}
    virtual ~Shares() = default;
    Shares(const Shares &) = delete;

    static ffi::Future computed(std::shared_ptr<Shares> shares, ffi::ThreadPool pool) {
        ffi::Future done(shares->remaining);
        for (int64_t k = 1; k < shares->count; k++) pool.Schedule([shares] { shares->work(); });
        shares->work();
        shares->wait_a_little();
        return done;
    }

    // Computes all shares on the host.
    static void compute_on_host(std::shared_ptr<Shares> shares) {
        for (int64_t k = 1; k < shares->count; k++) schedule([shares] { shares->work(); });
        shares->work();
        while (shares->ended.load(std::memory_order_acquire) < shares->count) {
            shares->wait_a_little();
            std::this_thread::yield();
        }
        if (!shares->fault.empty()) throw Failed{shares->fault};
    }

    // Computes a share.
    ffi::Error share(int64_t k) try {
        compute(k);
        if (made.fetch_add(1, std::memory_order_acq_rel) + 1 == count) finish();
        return ffi::Error::Success();
    } catch (const Failed &failed) {
        return ffi::Error::Internal(failed.why);
    }

  protected:
    virtual void compute(int64_t k) = 0;
    virtual void finish() {}        // when all are computed

    const int64_t count;

  private:
    static constexpr int PATIENCE = 500;        // looks, of about 40 ns

    // Computes shares that nobody has begun. Behind the last the program goes on in this thread, within CountDown.
    void work() {
        for (int64_t k; (k = begun.fetch_add(1)) < count;) {
            auto error = share(k);
            if (error.failure()) note(error.message());
            error.success() ? remaining.CountDown() : remaining.CountDown(error);
            ended.fetch_add(1, std::memory_order_release);
        }
    }

    void note(const std::string &why) {
        std::lock_guard<std::mutex> guard(lock);
        fault = why;
    }

    // Who has computed as much is done about now: then this thread goes on, and the other need not.
    void wait_a_little() const {
        for (int looks = 0; looks < PATIENCE && ended.load(std::memory_order_acquire) < count; looks++) relax();
    }

    std::atomic<int64_t> begun{0}, made{0}, ended{0};
    ffi::CountDownPromise remaining;
    std::mutex lock;
    std::string fault;      // of a share that failed
};

}  // namespace jtorch
