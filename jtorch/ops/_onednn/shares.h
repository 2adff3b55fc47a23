// Computations in shares, which threads of a pool compute: XLA's in a program, jtorch's own on the host (host_pool.h).
//
// The calling thread takes shares until none is left. Threads of the pool that have nothing else to do take some too. In a
// program the last thread runs the rest of the program. So no thread waits for a busy thread; OpenMP's would.
// The results do not depend on which thread computes a share.
#pragma once

#include "host_pool.h"
#include "onednn.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "xla/ffi/api/ffi.h"

namespace jtorch {

namespace ffi = xla::ffi;

extern std::atomic<int> allowed;        // upper limit for the threads of an op; 0 means no limit (set in convolution.cc)

inline int64_t threads_of(const ffi::ThreadPool &pool) {
    int64_t most = allowed.load(), all = pool.num_threads();
    return most ? std::min(most, all) : all;
}

inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

// Returns the number of shares for some work: at most one for each thread, and each with at least `least` of the work. Less work
// than `least` is one share.
inline int64_t shares_of_work(double work, double least, int64_t threads) {
    return std::clamp<int64_t>(work / least, 1, std::max<int64_t>(threads, 1));
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

    // Computes share k; the last share to finish calls finish().
    ffi::Error share(int64_t k) try {
        compute(k);
        if (made.fetch_add(1, std::memory_order_acq_rel) + 1 == count) finish();
        return ffi::Error::Success();
    } catch (const Failed &failed) {
        return ffi::Error::Internal(failed.why);
    }

  protected:
    virtual void compute(int64_t k) = 0;
    virtual void finish() {}        // runs after all shares

    // Returns the start of share k along a dimension, a multiple of `unit`. The start of share `count` is the end.
    int64_t start(int64_t k, int64_t all, int64_t unit = 1) const { return k == count ? all : all * k / count / unit * unit; }

    const int64_t count;

  private:
    static constexpr int PATIENCE = 500;        // the polls before the thread stops waiting; a larger value waits longer

    // Computes shares that no thread has begun. CountDown of the last share runs the rest of the program in this thread.
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

    // Waits briefly for the other threads, which finish about now. If they do, this thread runs the rest of a program.
    // Otherwise the thread that finishes last runs it.
    void wait_a_little() const {
        for (int looks = 0; looks < PATIENCE && ended.load(std::memory_order_acquire) < count; looks++) relax();
    }

    std::atomic<int64_t> begun{0}, made{0}, ended{0};
    ffi::CountDownPromise remaining;
    std::mutex lock;
    std::string fault;      // the message of a share that failed
};

}  // namespace jtorch
