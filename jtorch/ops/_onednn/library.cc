// Loads oneDNN. Python loads this library.

#include <Python.h>

#include "host_pool.h"
#include "onednn.h"

#include <dlfcn.h>

jtorch::Library jtorch::one;

using jtorch::one;

extern "C" {

// Loads the library; returns its version (30200 for 3.2.0), or 0 if it can't be loaded or lacks a function.
int jtorch_onednn_load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return 0;
#define TAKE(name)                                                        \
    one.name = reinterpret_cast<decltype(one.name)>(dlsym(library, #name)); \
    if (!one.name) return 0;
    FUNCTIONS(TAKE)
    TAKE(omp_get_max_threads)
    TAKE(omp_set_num_threads)
    if (one.dnnl_engine_create(&one.engine, dnnl_cpu, 0) != dnnl_success) return 0;
    jtorch::prepare_convolutions_for_forks();
    jtorch::prepare_pool_for_forks();
    const dnnl_version_t *version = one.dnnl_version();
    return version->major * 10000 + version->minor * 100 + version->patch;
}

PyObject *jtorch_multiply(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *jtorch_fuse(PyObject *, PyObject *const *, Py_ssize_t);
PyObject *jtorch_operations(PyObject *, PyObject *);

// The module has the functions that are called often. The other functions are called with ctypes.
PyMODINIT_FUNC PyInit__handlers() {
    static PyMethodDef methods[] = {
        {"multiply", reinterpret_cast<PyCFunction>(jtorch_multiply), METH_FASTCALL, nullptr},
        {"fuse", reinterpret_cast<PyCFunction>(jtorch_fuse), METH_FASTCALL, nullptr},
        {"operations", jtorch_operations, METH_NOARGS, nullptr},
        {nullptr, nullptr, 0, nullptr},
    };
    static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_handlers", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};
    return PyModule_Create(&definition);
}

}  // extern "C"
