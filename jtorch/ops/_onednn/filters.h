// The gradient of the filters of a convolution in small groups, see filters.cc.
#pragma once

#include "numbers.h"
#include "shares.h"

namespace jtorch {

// Tells whether filters.cc can compute the gradient: for groups of few channels, in one or two dimensions.
bool are_small_groups(const Numbers &numbers);

// Compute the gradient on the host, or in threads of XLA's pool. `y` is the gradient of the result.
void filters_of_groups(const Numbers &numbers, const float *x, const float *y, float *made);
ffi::Future filters_of_groups(const Numbers &numbers, const float *x, const float *y, float *made, ffi::ThreadPool pool);

}  // namespace jtorch
