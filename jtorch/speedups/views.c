/* jtorch.dispatch.views: makes views, calls ops that return views, and selects rows. */

#include "speedups.h"

static PyObject *view_of_in_python, *plain_view_in_python, *row_of_in_python, *call_view_in_python, *end_trace;
static PyObject *no_grad, *shown_name, *view_op_name, *through_name, *creation_name;

/* Tells whether a tensor has an ordinary storage and an ordinary view, which C can read. */
static int is_known(PyObject *t)
{
    if (!is_a(t, Tensor_.type) || SLOT(t, Tensor_.storage) == NULL || !Py_IS_TYPE(SLOT(t, Tensor_.storage), Storage_.type))
        return 0;
    PyObject *view = SLOT(t, Tensor_.view);
    return view == NULL || is_none(view) || Py_IS_TYPE(view, View_.type);
}

/* view_of(base, aval, stride, offset, in_order, value) */
PyObject *speedups_view_of(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 6 || !is_known(args[0]) || !PyBool_Check(args[4]))
        return PyObject_Vectorcall(view_of_in_python, args, nargs, NULL);
    return view_of(args[0], args + 1, args[5]);
}

/* Gives a view a history: 0, or -1 with an error. */
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

/* Tells whether ``flat`` is one tensor that C can read. */
static int is_one_known(PyObject *flat)
{
    return (PyTuple_CheckExact(flat) || PyList_CheckExact(flat)) && PySequence_Fast_GET_SIZE(flat) == 1
        && is_known(PySequence_Fast_ITEMS(flat)[0]);
}

/* Tells whether an object is a geometry: (aval, stride, offset, in_order). */
static int is_geometry(PyObject *shown)
{
    return PyTuple_CheckExact(shown) && PyTuple_GET_SIZE(shown) == 4 && PyBool_Check(PyTuple_GET_ITEM(shown, 3));
}

static PyObject *plain_view(PyObject *call, PyObject *flat, PyObject *shown, int tracks)
{
    PyObject *base = Py_NewRef(PySequence_Fast_ITEMS(flat)[0]), **geometry = &PyTuple_GET_ITEM(shown, 0);
    PyObject *value = value_of(base), *args = value != NULL ? PyList_New(1) : NULL, *out = NULL, *made = NULL;
    if (args != NULL) {
        PyList_SET_ITEM(args, 0, Py_NewRef(value));
        out = record_call(call, args);
    }
    if (out != NULL)
        made = view_of(base, geometry, out);
    if (made != NULL && tracks && requires_grad(base)
            && track(made, call, flat, args, SLOT(geometry[0], Aval_.is_inexact) == Py_True) < 0)
        Py_CLEAR(made);
    Py_XDECREF(out);
    Py_XDECREF(args);
    Py_XDECREF(value);
    Py_DECREF(base);
    return made;
}

/* plain_view(c, flat, shown, tracks) */
PyObject *speedups_plain_view(PyObject *module, PyObject *const *given, Py_ssize_t nargs)
{
    if (nargs != 4 || !Py_IS_TYPE(given[0], Call_.type) || !is_one_known(given[1]) || !is_geometry(given[2])
            || !PyBool_Check(given[3]))
        return PyObject_Vectorcall(plain_view_in_python, given, nargs, NULL);
    return plain_view(given[0], given[1], given[2], given[3] == Py_True);
}

/* Tells whether an attribute that few tensors have (_view_op or _through) is neither None nor empty; -1 with an error. */
static int has(PyObject *tensor, PyObject *name)
{
    PyObject *found = PyObject_GetAttr(tensor, name);
    int is_there = found != NULL ? PyObject_IsTrue(found) : -1;
    Py_XDECREF(found);
    return is_there;
}

/* Returns the cached geometry of the call's view of a base with this aval and layout: a new reference. NULL, perhaps without an
   error, if none is cached. */
static PyObject *shown_before(PyObject *call, PyObject *base)
{
    PyObject *view = SLOT(base, Tensor_.view), *aval = aval_of(base);
    if (SLOT(aval, Aval_.traced) != Py_False)
        return NULL;
    PyObject *key = is_none(view) ? PyTuple_Pack(2, shown_name, aval)
        : PyTuple_Pack(4, shown_name, aval, SLOT(view, View_.stride), SLOT(view, View_.offset));
    PyObject *found = key != NULL ? PyDict_GetItemWithError(SLOT(call, Call_.nodes), key) : NULL;
    Py_XDECREF(key);
    return found != NULL && is_geometry(found) ? Py_NewRef(found) : NULL;
}

/* Notes how a view was made, if writes to it are restricted: 0, or -1 with an error. See jtorch.dispatch.views._creation_of. */
static int note_creation(PyObject *made, PyObject *base, int is_grad_on)
{
    PyObject *creation = is_grad_on ? PyObject_GetAttr(base, creation_name) : Py_NewRef(no_grad);
    int failed = creation == NULL || (!is_none(creation) && PyObject_SetAttr(made, creation_name, creation) < 0);
    Py_XDECREF(creation);
    return failed ? -1 : 0;
}

/* Returns the cached geometry of a view that C can make (see shown_before). NULL, perhaps without an error: Python makes it. */
static PyObject *plain_geometry(PyObject *call, PyObject *flat, PyObject *modes, int tracks)
{
    long facts = facts_of(call);
    if (facts < 0 || !(facts & PLAIN_VIEW) || goes_by_python() || !is_one_known(flat))
        return NULL;
    PyObject *base = PySequence_Fast_ITEMS(flat)[0];
    if (SLOT(base, Tensor_.view) == NULL || is_none(SLOT(SLOT(base, Tensor_.storage), Storage_.value))
            || SLOT(base, Tensor_.inference) != Py_False || is_inference_on(modes) || has(base, view_op_name) != 0
            || has(base, through_name) != 0 || ((facts & RENAMED) && tracks && requires_grad(base)))
        return NULL;
    return shown_before(call, base);
}

/* call_view(c, flat) */
PyObject *speedups_call_view(PyObject *module, PyObject *const *given, Py_ssize_t nargs)
{
    PyObject *modes = current_mode();
    if (modes == NULL)
        return NULL;
    int grad = is_grad_on(modes);
    PyObject *shown = nargs == 2 && Py_IS_TYPE(given[0], Call_.type) ? plain_geometry(given[0], given[1], modes, grad) : NULL;
    if (shown == NULL)
        return PyErr_Occurred() ? NULL : PyObject_Vectorcall(call_view_in_python, given, nargs, NULL);
    PyObject *base = Py_NewRef(PySequence_Fast_ITEMS(given[1])[0]), *made = plain_view(given[0], given[1], shown, grad);
    if (made != NULL && note_creation(made, base, grad) < 0)
        Py_CLEAR(made);
    Py_DECREF(base);
    Py_DECREF(shown);
    return made;
}

/* Returns the offset of the row ``index``: a new reference, or None if it is out of range. See
   jtorch.dispatch.views.row_of. */
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
    if (made != NULL && !is_grad_on(modes) && note_creation(made, t, 0) < 0)
        Py_CLEAR(made);
    return made;
}

PyObject *speedups_connect_views(PyObject *module, PyObject *given)
{
    if (!(view_of_in_python = take(given, "view_of")) || !(plain_view_in_python = take(given, "plain_view"))
            || !(row_of_in_python = take(given, "row_of")) || !(call_view_in_python = take(given, "call_view"))
            || !(end_trace = take(given, "_end")) || !(no_grad = PyUnicode_InternFromString("no_grad"))
            || !(shown_name = PyUnicode_InternFromString("shown")) || !(view_op_name = PyUnicode_InternFromString("_view_op"))
            || !(through_name = PyUnicode_InternFromString("_through"))
            || !(creation_name = PyUnicode_InternFromString("_creation")))
        return NULL;
    Py_RETURN_NONE;
}
