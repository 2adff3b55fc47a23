// Threads that help where the host computes something in shares (shares.h). In a program XLA's threads do that.
//
// OpenMP's and OpenBLAS's threads would wait for each other: a thread of OpenBLAS stays awake for 25 ms after a product.
#pragma once

#include <cstdint>
#include <functional>

namespace jtorch {

int host_threads();     // threads that an op on the host may use; 1 in a forked process

void schedule(std::function<void()> task);      // has a thread of the pool run the task

void prepare_pool_for_forks();

}  // namespace jtorch
