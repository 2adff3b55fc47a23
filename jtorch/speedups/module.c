/* The extension module jtorch.speedups._speedups. */

#include "speedups.h"
#include <structmember.h>

/* Finds the offsets of a class's slots in the order of ``names``; TypeError if a name is not a slot. */
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

/* Returns the value of a name in a dict: a new reference. */
PyObject *take(PyObject *from, const char *name)
{
    PyObject *found = PyDict_GetItemString(from, name);
    if (found == NULL)
        PyErr_Format(PyExc_KeyError, "%s", name);
    return Py_XNewRef(found);
}

/* Returns an attribute of a thread-local: borrowed. In each thread it must always be the same object. The object of the thread
   that asked last is cached, because the lookup in Python is slow. */
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

#define DEFINE(name) long name;
FOR_EACH_NUMBER(DEFINE)
PyObject *EAGER, *DEFERRED;

static int set_number(long *number, PyObject *given, const char *name, Py_ssize_t *known)
{
    PyObject *found = take(given, name);
    *number = found != NULL ? PyLong_AsLong(found) : -1;
    *known += 1;
    Py_XDECREF(found);
    return PyErr_Occurred() ? -1 : 0;
}

/* Takes the constants of jtorch/speedups/constants.py; KeyError or ValueError if their names are not the names known here. */
PyObject *speedups_set_constants(PyObject *module, PyObject *given)
{
    Py_ssize_t known = 2;
#define SET(name) if (set_number(&name, given, #name, &known) < 0) return NULL;
    FOR_EACH_NUMBER(SET)
    if (!(EAGER = take(given, "EAGER")) || !(DEFERRED = take(given, "DEFERRED")))
        return NULL;
    if (PyDict_GET_SIZE(given) != known)
        return PyErr_Format(PyExc_ValueError, "the extension knows %zd constants and was given %zd", known, PyDict_GET_SIZE(given));
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"set_constants", speedups_set_constants, METH_O, "Takes jtorch.speedups.constants.FOR_C, before anything else."},
    {"record", (PyCFunction)(void (*)(void))speedups_record, METH_FASTCALL, "See jtorch.engine.trace.record."},
    {"record_over", (PyCFunction)(void (*)(void))speedups_record_over, METH_FASTCALL, "See jtorch.engine.trace.record_over."},
    {"run_held", (PyCFunction)(void (*)(void))speedups_run_held, METH_FASTCALL, "See jtorch.engine.interpreter.run_held."},
    {"liveness_of", speedups_liveness_of, METH_O, "See jtorch.engine.program.liveness_of."},
    {"value_of", speedups_value_of, METH_O, "See jtorch.storage.value_of."},
    {"wrap", (PyCFunction)(void (*)(void))speedups_wrap, METH_FASTCALL | METH_KEYWORDS, "See jtorch.tensor.wrap."},
    {"values_of", speedups_values_of, METH_O, "See jtorch.storage.values_of."},
    {"write_all", (PyCFunction)(void (*)(void))speedups_write_all, METH_FASTCALL, "See jtorch.storage.write_all."},
    {"call", (PyCFunction)(void (*)(void))speedups_call, METH_FASTCALL, "See jtorch.dispatch.calls.call."},
    {"make_node", (PyCFunction)(void (*)(void))speedups_make_node, METH_FASTCALL, "See jtorch.dispatch.calls.make_node."},
    {"call_inplace", (PyCFunction)(void (*)(void))speedups_call_inplace, METH_FASTCALL | METH_KEYWORDS,
     "See jtorch.dispatch.writes.call_inplace."},
    {"view_of", (PyCFunction)(void (*)(void))speedups_view_of, METH_FASTCALL, "See jtorch.dispatch.views.view_of."},
    {"plain_view", (PyCFunction)(void (*)(void))speedups_plain_view, METH_FASTCALL, "See jtorch.dispatch.views.plain_view."},
    {"call_view", (PyCFunction)(void (*)(void))speedups_call_view, METH_FASTCALL, "See jtorch.dispatch.views.call_view."},
    {"row_of", (PyCFunction)(void (*)(void))speedups_row_of, METH_FASTCALL, "See jtorch.dispatch.views.row_of."},
    {"draw_words", (PyCFunction)(void (*)(void))speedups_draw_words, METH_FASTCALL, "See jtorch._base.late_bindings."},
    {"swap_places", (PyCFunction)(void (*)(void))speedups_swap_places, METH_FASTCALL, "See jtorch._base.late_bindings."},
    {"fuse", (PyCFunction)(void (*)(void))speedups_fuse, METH_FASTCALL, "See jtorch._base.late_bindings."},
    {"normals", (PyCFunction)(void (*)(void))speedups_normals, METH_FASTCALL, "See jtorch._base.late_bindings."},
    {"set_detour", speedups_set_detour, METH_O, "See jtorch.dispatch.calls.detour."},
    {"follow", (PyCFunction)(void (*)(void))speedups_follow, METH_FASTCALL, "See jtorch._backward.backward.follow."},
    {"hand_on", (PyCFunction)(void (*)(void))speedups_hand_on, METH_FASTCALL, "See jtorch._backward.backward.hand_on."},
    {"restore_grad", (PyCFunction)(void (*)(void))speedups_restore_grad, METH_FASTCALL, "See jtorch.no_grad.restore_grad."},
    {"connect_trace", speedups_connect_trace, METH_O, "Takes what it needs of jtorch.engine.trace."},
    {"connect_storage", speedups_connect_storage, METH_O, "Takes what it needs of jtorch.storage."},
    {"connect_tensor", speedups_connect_tensor, METH_O, "Takes what it needs of jtorch.tensor."},
    {"connect_mode", speedups_connect_mode, METH_O, "Takes what it needs of jtorch.no_grad; gives no_grad.__exit__."},
    {"connect_calls", speedups_connect_calls, METH_O, "Takes what it needs of jtorch.dispatch.calls."},
    {"connect_inplace", speedups_connect_inplace, METH_O, "Takes what it needs of jtorch.dispatch.writes."},
    {"connect_views", speedups_connect_views, METH_O, "Takes what it needs of jtorch.dispatch.views."},
    {"connect_walks", speedups_connect_walks, METH_O, "Takes what it needs of jtorch._backward.backward."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_speedups", "The hot path in C. See jtorch.speedups.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__speedups(void)
{
    return PyModule_Create(&definition);
}
