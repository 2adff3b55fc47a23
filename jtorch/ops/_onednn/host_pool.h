// A pool of threads that compute shares on the host (shares.h). In a program XLA's threads compute the shares.
//
// The pool replaces OpenMP's threads. OpenMP's threads would compete for cores with OpenBLAS's threads, which spin for a while
// after each product.
#pragma once

#include <cstdint>
#include <functional>

namespace jtorch {

// Returns the number of threads that an op on the host may use. It is 1 in a forked process.
int host_threads();

// Runs the task in a thread of the pool.
void schedule(std::function<void()> task);

void prepare_pool_for_forks();

}  // namespace jtorch
