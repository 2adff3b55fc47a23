/* jtorch.dispatch.views: a view of a tensor, the call of an op that makes one, and a row. */

#include "speedups.h"

static PyObject *view_of_in_python, *plain_view_in_python, *row_of_in_python, *end_trace, *restrict_view, *no_grad;

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

/* Where the row ``index`` begins: a new reference, or None if there is none. ``rows``: see jtorch.dispatch.views.row_of. */
static PyObject *start_of(PyObject *rows, PyObject *index)
{
    Py_ssize_t n = PyLong_AsSsize_t(PyTuple_GET_ITEM(rows, 1)), apart = PyLong_AsSsize_t(PyTuple_GET_ITEM(rows, 4));
    int is_huge;
    long long i = PyLong_AsLongLongAndOverflow(index, &is_huge);
    if (PyErr_Occurred())
        return NULL;
    if (is_huge || i < -n || i >= n)
        Py_RETURN_NONE;
    return PyLong_FromSsize_t((Py_ssize_t)(i < 0 ? i + n : i) * apart);
}

/* row_of(t, rows, i) */
PyObject *speedups_row_of(PyObject *module, PyObject *const *given, Py_ssize_t nargs)
{
    PyObject *t = nargs ? given[0] : NULL, *modes = current_mode();
    if (modes == NULL)
        return NULL;
    if (nargs != 3 || goes_by_python() || !is_known(t) || is_none(SLOT(SLOT(t, Tensor_.storage), Storage_.value))
            || !PyTuple_CheckExact(given[1]) || PyTuple_GET_SIZE(given[1]) != 5 || !PyLong_CheckExact(given[2]))
        return PyObject_Vectorcall(row_of_in_python, given, nargs, NULL);
    PyObject *storage = SLOT(t, Tensor_.storage), *value = SLOT(storage, Storage_.value), *trace = current_trace();
    PyObject *const *rows = &PyTuple_GET_ITEM(given[1], 0);
    if (trace == NULL)
        return NULL;
    if (!is_none(SLOT(t, Tensor_.view)) || !is_none(SLOT(t, Tensor_.base)) || SLOT(storage, Storage_.aval) != rows[0]
            || SLOT(t, Tensor_.requires_grad) == Py_True || is_none(SLOT(value, Value_.array)) || SLOT(value, Value_.born) == trace)
        Py_RETURN_NONE;
    PyObject *start = start_of(given[1], given[2]);
    if (start == NULL || is_none(start))
        return start;
    PyObject *geometry[] = {rows[2], rows[3], start, Py_True}, *made = view_of(t, geometry, Py_None);
    Py_DECREF(start);
    if (made != NULL && !is_grad_on(modes) && done(PyObject_CallFunctionObjArgs(restrict_view, made, no_grad, NULL)) < 0)
        Py_CLEAR(made);
    return made;
}

PyObject *speedups_connect_views(PyObject *module, PyObject *given)
{
    if (!(view_of_in_python = take(given, "view_of")) || !(plain_view_in_python = take(given, "plain_view"))
            || !(row_of_in_python = take(given, "row_of")) || !(restrict_view = take(given, "restrict"))
            || !(end_trace = take(given, "_end")) || !(no_grad = PyUnicode_InternFromString("no_grad")))
        return NULL;
    Py_RETURN_NONE;
}
