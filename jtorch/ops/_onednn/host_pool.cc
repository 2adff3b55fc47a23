#include "host_pool.h"

#include "shares.h"

#include <condition_variable>
#include <deque>
#include <thread>

#include <pthread.h>

using namespace jtorch;

namespace {

// Number of checks for a new task before a thread sleeps. A larger value wakes threads faster, and keeps cores busy for longer.
constexpr int PATIENCE = 2000;

bool is_forked = false;     // a forked process lacks the parent's threads, and waiting for them would never end

class Pool {
  public:
    explicit Pool(int threads) {
        for (int k = 0; k < threads; k++) std::thread([this] { work(); }).detach();
    }

    void add(std::function<void()> task) {
        {
            std::lock_guard<std::mutex> guard(lock);
            tasks.push_back(std::move(task));
            waiting.store(int(tasks.size()), std::memory_order_release);
        }
        added.notify_one();
    }

  private:
    void work() {
        for (;;) taken()();
    }

    std::function<void()> taken() {
        for (int looks = 0; looks < PATIENCE && !waiting.load(std::memory_order_acquire); looks++) relax();
        std::unique_lock<std::mutex> guard(lock);
        added.wait(guard, [this] { return !tasks.empty(); });
        auto task = std::move(tasks.front());
        tasks.pop_front();
        waiting.store(int(tasks.size()), std::memory_order_release);
        return task;
    }

    std::mutex lock;
    std::condition_variable added;
    std::deque<std::function<void()>> tasks;
    std::atomic<int> waiting{0};
};

}  // namespace

int jtorch::host_threads() {
    int most = allowed.load(), all = one.omp_get_max_threads();
    return is_forked ? 1 : most && most < all ? most : all;
}

void jtorch::schedule(std::function<void()> task) {
    static Pool *pool = new Pool(one.omp_get_max_threads() - 1);     // never destroyed, since its threads live as long as the process
    pool->add(std::move(task));
}

void jtorch::prepare_pool_for_forks() {
    pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
}
