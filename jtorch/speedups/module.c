/* The extension module jtorch.speedups._speedups. */

#include "speedups.h"
#include <structmember.h>

/* Where the slots of a class lie, in the order of ``names``; TypeError where one is not a slot. */
int lookup_slots(PyObject *type, Py_ssize_t *offsets, const char *const *names)
{
    for (Py_ssize_t i = 0; names[i] != NULL; i++) {
        PyObject *slot = PyObject_GetAttrString(type, names[i]);
        if (slot == NULL)
            return -1;
        int is_slot = Py_IS_TYPE(slot, &PyMemberDescr_Type) && ((PyMemberDescrObject *)slot)->d_member->type == T_OBJECT_EX;
        if (is_slot)
            offsets[i] = ((PyMemberDescrObject *)slot)->d_member->offset;
        Py_DECREF(slot);
        if (!is_slot) {
            PyErr_Format(PyExc_TypeError, "%R has no slot %s", type, names[i]);
            return -1;
        }
    }
    return 0;
}

/* What a dict holds by this name: a new reference. */
PyObject *take(PyObject *from, const char *name)
{
    PyObject *found = PyDict_GetItemString(from, name);
    if (found == NULL)
        PyErr_Format(PyExc_KeyError, "%s", name);
    return Py_XNewRef(found);
}

/* An attribute of a thread-local that stays the same object: borrowed. Asking Python takes longer than all else in a call. */
PyObject *of_this_thread(struct of_thread *kept, PyObject *local, const char *name)
{
    uint64_t now = PyThreadState_GetID(PyThreadState_Get());
    if (kept->found == NULL || now != kept->thread) {
        PyObject *found = PyObject_GetAttrString(local, name);
        if (found == NULL)
            return NULL;
        Py_XSETREF(kept->found, found);
        kept->thread = now;
    }
    return kept->found;
}

static PyMethodDef methods[] = {
    {"record", (PyCFunction)(void (*)(void))speedups_record, METH_FASTCALL, "See jtorch.engine.trace.record."},
    {"liveness_of", speedups_liveness_of, METH_O, "See jtorch.engine.program.liveness_of."},
    {"value_of", speedups_value_of, METH_O, "See jtorch.storage.value_of."},
    {"wrap", (PyCFunction)(void (*)(void))speedups_wrap, METH_FASTCALL | METH_KEYWORDS, "See jtorch.tensor.wrap."},
    {"values_of", speedups_values_of, METH_O, "See jtorch.storage.values_of."},
    {"write_all", (PyCFunction)(void (*)(void))speedups_write_all, METH_FASTCALL, "See jtorch.storage.write_all."},
    {"call", (PyCFunction)(void (*)(void))speedups_call, METH_FASTCALL, "See jtorch.dispatch.calls.call."},
    {"make_node", (PyCFunction)(void (*)(void))speedups_make_node, METH_FASTCALL, "See jtorch.dispatch.calls.make_node."},
    {"call_inplace", (PyCFunction)(void (*)(void))speedups_call_inplace, METH_FASTCALL | METH_KEYWORDS,
     "See jtorch.dispatch.writes.call_inplace."},
    {"follow", (PyCFunction)(void (*)(void))speedups_follow, METH_FASTCALL, "See jtorch._nodes.replay.Walk."},
    {"connect_trace", speedups_connect_trace, METH_O, "Takes what it needs of jtorch.engine.trace."},
    {"connect_storage", speedups_connect_storage, METH_O, "Takes what it needs of jtorch.storage."},
    {"connect_tensor", speedups_connect_tensor, METH_O, "Takes what it needs of jtorch.tensor."},
    {"connect_mode", speedups_connect_mode, METH_O, "Takes what it needs of jtorch.no_grad; gives no_grad.__exit__."},
    {"connect_calls", speedups_connect_calls, METH_O, "Takes what it needs of jtorch.dispatch.calls."},
    {"connect_inplace", speedups_connect_inplace, METH_O, "Takes what it needs of jtorch.dispatch.writes."},
    {"connect_walks", speedups_connect_walks, METH_O, "Takes what it needs of jtorch._backward.backward."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_speedups", "The hot path in C. See jtorch.speedups.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__speedups(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && (PyModule_AddIntMacro(module, DIFFERENTIABLE) < 0 || PyModule_AddIntMacro(module, SAVES) < 0
                           || PyModule_AddIntMacro(module, SAVES_BOTH) < 0 || PyModule_AddIntMacro(module, KEEPS_RESULT) < 0
                           || PyModule_AddIntMacro(module, IDEMPOTENT) < 0 || PyModule_AddIntMacro(module, LAID_OUT) < 0
                           || PyModule_AddIntMacro(module, HAS_CHECKS) < 0 || PyModule_AddIntMacro(module, CLASS_BY_SHAPES) < 0
                           || PyModule_AddIntMacro(module, INPLACE_IN_PYTHON) < 0))
        Py_CLEAR(module);
    return module;
}
