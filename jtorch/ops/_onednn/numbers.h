// A convolution's description: its kind (the array that is computed) and its sizes, as a row of numbers
//     kind, groups, n, the shapes of input, filters and result (n + 2 each), and for each of the n dimensions
//     stride, padding before, padding after, dilation (n each).
#pragma once

#include <cstdint>
#include <initializer_list>

namespace jtorch {

enum Array { INPUT, FILTERS, RESULT };

struct Numbers {
    int64_t kind, groups, n;
    const int64_t *from, *shapes[3], *stride, *before, *behind, *dilation;

    explicit Numbers(const int64_t *at) : kind(at[0]), groups(at[1]), n(at[2]), from(at) {
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
};

}  // namespace jtorch
