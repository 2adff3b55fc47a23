// Constants for dividing a matrix product into shares, in programs (product.cc) and on the host (host_product.cc).
#pragma once

#include "shares.h"

namespace jtorch {

// Operations of a share. They take about as long as waking a thread. A larger value uses fewer threads.
constexpr double OF_A_PRODUCT = 1e6;
// Rows or columns. Shares begin at multiples of this number, which is the count of floats in a register. A larger value makes
// shares less even.
constexpr int64_t UNIT = 16;

}  // namespace jtorch
