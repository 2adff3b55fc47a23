/* jtorch.dispatch.views: a view of a tensor, and the call of an op that makes one. */

#include "speedups.h"

static PyObject *view_of_in_python, *plain_view_in_python, *end_trace;

/* Whether C knows a tensor: one of ordinary storage. */
static int is_known(PyObject *t)
{
    return is_a(t, Tensor_.type) && SLOT(t, Tensor_.storage) != NULL && Py_IS_TYPE(SLOT(t, Tensor_.storage), Storage_.type);
}

/* view_of(base, aval, stride, offset, in_order, value) */
PyObject *speedups_view_of(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 6 || !is_known(args[0]) || !PyBool_Check(args[4]))
        return PyObject_Vectorcall(view_of_in_python, args, nargs, NULL);
    return view_of(args[0], args + 1, args[5]);
}

/* The view gets a history: 0, or -1 with an error. */
static int track(PyObject *made, PyObject *call, PyObject *flat, PyObject *args, int is_inexact)
{
    PyObject *trace = current_trace();
    if (trace == NULL || (SLOT(trace, Trace_.after_backward) == Py_True && done(PyObject_CallNoArgs(end_trace)) < 0))
        return -1;
    PyObject *given[] = {call, flat, args}, *node = speedups_make_node(NULL, given, 3);
    if (node == NULL)
        return -1;
    if (is_inexact)
        start_history(made, node);
    Py_DECREF(node);
    return 0;
}

/* plain_view(c, flat, shown, tracks) */
PyObject *speedups_plain_view(PyObject *module, PyObject *const *given, Py_ssize_t nargs)
{
    if (nargs != 4 || !Py_IS_TYPE(given[0], Call_.type) || !PyTuple_CheckExact(given[2]) || !PyBool_Check(given[3])
            || !(PyTuple_CheckExact(given[1]) || PyList_CheckExact(given[1])) || PySequence_Fast_GET_SIZE(given[1]) != 1
            || PyTuple_GET_SIZE(given[2]) != 4 || !is_known(PySequence_Fast_ITEMS(given[1])[0])
            || !PyBool_Check(PyTuple_GET_ITEM(given[2], 3)))
        return PyObject_Vectorcall(plain_view_in_python, given, nargs, NULL);
    PyObject *base = Py_NewRef(PySequence_Fast_ITEMS(given[1])[0]), **geometry = &PyTuple_GET_ITEM(given[2], 0);
    PyObject *value = value_of(base), *args = value != NULL ? PyList_New(1) : NULL, *out = NULL, *made = NULL;
    if (args != NULL) {
        PyList_SET_ITEM(args, 0, Py_NewRef(value));
        out = record_call(given[0], args);
    }
    if (out != NULL)
        made = view_of(base, geometry, out);
    if (made != NULL && given[3] == Py_True && requires_grad(base)
            && track(made, given[0], given[1], args, SLOT(geometry[0], Aval_.is_inexact) == Py_True) < 0)
        Py_CLEAR(made);
    Py_XDECREF(out);
    Py_XDECREF(args);
    Py_XDECREF(value);
    Py_DECREF(base);
    return made;
}

PyObject *speedups_connect_views(PyObject *module, PyObject *given)
{
    if (!(view_of_in_python = take(given, "view_of")) || !(plain_view_in_python = take(given, "plain_view"))
            || !(end_trace = take(given, "_end")))
        return NULL;
    Py_RETURN_NONE;
}
