// The shares of a product of matrices, in programs and on the host.
#pragma once

#include "shares.h"

namespace jtorch {

// Operations of a share, whose time is about that of waking a thread. A larger value uses fewer threads.
constexpr double OF_A_PRODUCT = 1e6;
// Rows or columns: shares begin at multiples of it. It is the count of numbers in a register; larger units make shares less even.
constexpr int64_t UNIT = 16;

}  // namespace jtorch
