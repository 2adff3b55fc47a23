/* jtorch.dispatch.calls.make_node: makes the node of a recorded call. */

#include "speedups.h"

struct OpNode_class OpNode_;

static PyObject *make_node_in_python, *saving_result, *special_node, *edge_of, *with_node, *class_by_shapes, *checked_in_python;
static PyObject *next_number, *unsaved, *leaf_number, *nothing, *result_name;

static PyObject *pair(PyObject *a, PyObject *b)
{
    return PyTuple_Pack(2, a, b);
}

/* Returns (counter, version) of a saved tensor, by which backward detects a later write to the tensor. */
static PyObject *noted(PyObject *t)
{
    PyObject *storage = SLOT(t, Tensor_.storage), *counter = SLOT(t, Tensor_.counter);
    if (is_none(SLOT(t, Tensor_.view)) && is_none(counter) && is_none(SLOT(t, Tensor_.base)))
        return pair(storage, SLOT(storage, Storage_.version));
    PyObject *saved = SavedTensorRef_.type->tp_alloc(SavedTensorRef_.type, 0);
    if (saved == NULL)
        return NULL;
    SLOT(saved, SavedTensorRef_.counter) = Py_NewRef(is_none(counter) ? storage : counter);
    SLOT(saved, SavedTensorRef_.storage) = Py_NewRef(storage);
    SLOT(saved, SavedTensorRef_.view) = Py_NewRef(SLOT(t, Tensor_.view));
    SLOT(saved, SavedTensorRef_.tensor) = PyWeakref_NewRef(t, NULL);
    PyObject *version = SLOT(saved, SavedTensorRef_.tensor) ? version_of(saved) : NULL;
    PyObject *made = version ? pair(saved, version) : NULL;
    Py_XDECREF(version);
    Py_DECREF(saved);
    return made;
}

/* Returns the edge to which an argument's gradient goes: a new reference; None if the argument needs no gradient. */
static PyObject *edge_from(PyObject *t, PyObject *value)
{
    PyObject *node = SLOT(t, Tensor_.node), *base = SLOT(t, Tensor_.base);
    if (is_none(base)) {
        if (SLOT(t, Tensor_.requires_grad) != Py_True)
            return Py_NewRef(Py_None);
        return is_none(node) ? pair(t, leaf_number) : pair(node, SLOT(t, Tensor_.output_nr));
    }
    if (SLOT(SLOT(value, Value_.aval), Aval_.is_inexact) != Py_True || !requires_grad(t))
        return Py_NewRef(Py_None);
    if (!is_none(node)) {
        PyObject *counter = SLOT(t, Tensor_.counter);
        PyObject *version = version_of(is_none(counter) ? SLOT(t, Tensor_.storage) : counter);
        int fresh = same_int(SLOT(t, Tensor_.node_version), version);
        Py_XDECREF(version);
        if (fresh)
            return pair(node, SLOT(t, Tensor_.output_nr));
    }
    return PyObject_CallOneArg(edge_of, t);
}

/* Tells whether C can make a node that saves this argument. Python handles memory shared with NumPy, and errors. */
static int can_be_saved(PyObject *t)
{
    PyObject *storage = SLOT(t, Tensor_.storage);
    return Py_IS_TYPE(storage, Storage_.type) && !is_none(SLOT(storage, Storage_.value)) && SLOT(t, Tensor_.inference) == Py_False;
}

/* Returns the class of a call's nodes: borrowed. For some ops it depends on the shapes of the arguments. */
static PyObject *class_of_node(PyObject *call, long facts, PyObject *args)
{
    if (!(facts & CLASS_BY_SHAPES))
        return SLOT(call, Call_.node_class);
    PyObject *key = PyTuple_New(PyList_GET_SIZE(args));
    for (Py_ssize_t i = 0; key != NULL && i < PyList_GET_SIZE(args); i++) {
        PyObject *value = PyList_GET_ITEM(args, i);
        PyTuple_SET_ITEM(key, i, Py_NewRef(Py_IS_TYPE(value, Value_.type) ? SLOT(value, Value_.aval) : (PyObject *)Py_TYPE(value)));
    }
    PyObject *known = SLOT(call, Call_.nodes), *found = key != NULL ? PyDict_GetItemWithError(known, key) : NULL;
    if (found == NULL && key != NULL && !PyErr_Occurred()) {
        PyObject *made = PyObject_CallFunctionObjArgs(class_by_shapes, call, args, key, NULL);
        Py_XDECREF(made);       /* ``known`` holds the class */
        found = made != NULL ? PyDict_GetItemWithError(known, key) : NULL;
    }
    Py_XDECREF(key);
    return found;
}

/* Returns the positions of the saved values whose versions are checked ("result" for the result): a new reference. None means
   all of them. The positions depend on the call and on which arguments need a gradient. */
static PyObject *checked(PyObject *call, PyObject *edges)
{
    Py_ssize_t n = PyTuple_GET_SIZE(edges);
    unsigned long mask = 1;      /* a leading 1, then a bit for each edge */
    for (Py_ssize_t i = 0; i < n; i++)
        mask = mask << 1 | !is_none(PyTuple_GET_ITEM(edges, i));
    PyObject *known = SLOT(call, Call_.nodes), *key = PyLong_FromUnsignedLong(n < 31 ? mask : 0);
    PyObject *found = key != NULL && n < 31 ? PyDict_GetItemWithError(known, key) : NULL;
    Py_XINCREF(found);
    if (found == NULL && key != NULL && !PyErr_Occurred())
        found = PyObject_CallFunctionObjArgs(checked_in_python, call, edges, key, NULL);
    Py_XDECREF(key);
    return found;
}

/* Returns the versions that are checked, with UNSAVED in place of the others. */
static PyObject *kept_versions(PyObject *call, PyObject *edges, PyObject *versions)
{
    PyObject *few = checked(call, edges);
    if (few == NULL)
        return NULL;
    if (is_none(few)) {
        Py_DECREF(few);
        return Py_NewRef(versions);
    }
    Py_ssize_t n = PyTuple_GET_SIZE(versions);
    PyObject *kept = PyTuple_New(n);
    for (Py_ssize_t i = 0; kept != NULL && i < n; i++) {
        int here = 0;
        for (Py_ssize_t k = 0; !here && k < PyTuple_GET_SIZE(few); k++) {
            PyObject *position = PyTuple_GET_ITEM(few, k);
            here = PyLong_Check(position) && PyLong_AsSsize_t(position) == i;
        }
        PyTuple_SET_ITEM(kept, i, Py_NewRef(here ? PyTuple_GET_ITEM(versions, i) : unsaved));
    }
    Py_DECREF(few);
    return kept;
}

static PyObject *new_node(PyObject *call, long facts, PyObject *args, PyObject *edges, PyObject *versions)
{
    PyTypeObject *type = (PyTypeObject *)class_of_node(call, facts, args);
    if (type == NULL)
        return NULL;
    PyObject *kept = facts & HAS_CHECKS ? kept_versions(call, edges, versions) : Py_NewRef(versions);
    PyObject *number = kept != NULL ? PyObject_CallNoArgs(next_number) : NULL;
    PyObject *node = number ? type->tp_alloc(type, 0) : NULL;
    if (node == NULL) {
        Py_XDECREF(kept);
        Py_XDECREF(number);
        return NULL;
    }
    SLOT(node, OpNode_.call) = Py_NewRef(call);
    SLOT(node, OpNode_.saved) = Py_NewRef(args);
    SLOT(node, OpNode_.raw_edges) = Py_NewRef(edges);
    SLOT(node, OpNode_.versions) = kept;
    count_saved(kept, 1);
    SLOT(node, OpNode_.seq) = number;
    SLOT(node, OpNode_.watched) = Py_NewRef(Py_False);
    SLOT(node, OpNode_.result) = Py_NewRef(Py_None);
    return node;
}

/* Makes the node of a recorded call. See jtorch.dispatch.calls.make_node. */
static PyObject *make_node(PyObject *call, long facts, PyObject *flat, PyObject *args, PyObject *modes)
{
    int saves = (facts & SAVES) != 0;
    Py_ssize_t n = Py_MIN(PySequence_Fast_GET_SIZE(flat), PyList_GET_SIZE(args));
    PyObject **given = PySequence_Fast_ITEMS(flat), *node = NULL;
    for (Py_ssize_t i = 0; i < n; i++)
        if (Py_IS_TYPE(PyList_GET_ITEM(args, i), Value_.type) && (!is_a(given[i], Tensor_.type) || (saves && !can_be_saved(given[i]))))
            return PyObject_CallFunctionObjArgs(make_node_in_python, call, flat, args, NULL);
    PyObject *edges = PyTuple_New(n), *versions = saves ? PyTuple_New(n) : Py_NewRef(nothing);
    for (Py_ssize_t i = 0; edges != NULL && versions != NULL && i < n; i++) {
        PyObject *value = PyList_GET_ITEM(args, i);
        int is_tensor = Py_IS_TYPE(value, Value_.type);
        PyObject *edge = is_tensor ? edge_from(given[i], value) : Py_NewRef(Py_None);
        PyObject *entry = edge == NULL || !saves ? NULL : is_tensor ? noted(given[i]) : Py_NewRef(unsaved);
        if (edge != NULL)
            PyTuple_SET_ITEM(edges, i, edge);
        if (entry != NULL)
            PyTuple_SET_ITEM(versions, i, entry);
        if (edge == NULL || (saves && entry == NULL))
            goto out;
    }
    if (edges != NULL && versions != NULL)
        node = new_node(call, facts, args, edges, versions);
    if (node != NULL && is_special(modes) && done(PyObject_CallFunctionObjArgs(special_node, node, flat, NULL)) < 0)
        Py_CLEAR(node);
out:
    Py_XDECREF(edges);
    Py_XDECREF(versions);
    return node;
}

/* Wraps the result of an op whose backward uses the result. The node notes the result's version, by which backward detects
   writes. */
static PyObject *wrap_saved(PyObject *out, PyObject *node, long facts, PyObject *modes)
{
    if (is_special(modes))
        return PyObject_CallFunctionObjArgs(saving_result, out, node, NULL);
    PyObject *few = facts & HAS_CHECKS ? checked(SLOT(node, OpNode_.call), SLOT(node, OpNode_.raw_edges)) : Py_NewRef(Py_None);
    int counts = few == NULL ? -1 : is_none(few) ? 1 : PySequence_Contains(few, result_name);
    Py_XDECREF(few);
    PyObject *t = counts < 0 ? NULL : wrap_value(out, node, 0, NULL);
    if (t == NULL || !counts)
        return t;
    PyObject *storage = SLOT(t, Tensor_.storage), *before = SLOT(node, OpNode_.versions);
    PyObject *entry = pair(storage, SLOT(storage, Storage_.version)), *one = entry ? PyTuple_Pack(1, entry) : NULL;
    PyObject *versions = one == NULL ? NULL : facts & SAVES_BOTH ? PySequence_Concat(before, one) : Py_NewRef(one);
    if (one != NULL)
        count_saved(one, 1);
    Py_XDECREF(entry);
    Py_XDECREF(one);
    if (versions == NULL) {
        Py_DECREF(t);
        return NULL;
    }
    set(node, OpNode_.result, SLOT(out, Value_.aval));
    put(node, OpNode_.versions, versions);
    return t;
}

/* Wraps the result of a recorded call in a tensor with a node. */
PyObject *tracked(PyObject *call, long facts, PyObject *flat, PyObject *args, PyObject *out, PyObject *modes)
{
    if (!Py_IS_TYPE(out, Value_.type) || !(facts & DIFFERENTIABLE) || SLOT(SLOT(out, Value_.aval), Aval_.is_inexact) != Py_True)
        return PyObject_CallFunctionObjArgs(with_node, call, flat, args, out, NULL);
    PyObject *saved = args;
    if (facts & IDEMPOTENT) {
        saved = PyList_New(1);
        if (saved == NULL)
            return NULL;
        PyList_SET_ITEM(saved, 0, Py_NewRef(out));
    }
    PyObject *node = make_node(call, facts, flat, saved, modes), *made = NULL;
    if (node != NULL)
        made = facts & KEEPS_RESULT ? wrap_saved(out, node, facts, modes) : wrap_value(out, node, 0, NULL);
    Py_XDECREF(node);
    if (facts & IDEMPOTENT)
        Py_DECREF(saved);
    return made;
}

/* make_node(c, flat, args) */
PyObject *speedups_make_node(PyObject *module, PyObject *const *given, Py_ssize_t nargs)
{
    if (nargs != 3 || !Py_IS_TYPE(given[0], Call_.type)) {
        PyErr_SetString(PyExc_TypeError, "make_node() takes a call, its arguments and their values");
        return NULL;
    }
    PyObject *modes = current_mode();
    long facts = modes != NULL ? facts_of(given[0]) : -1;
    if (facts < 0)
        return NULL;
    if (!(facts & DIFFERENTIABLE) || !PyList_CheckExact(given[2]) || !(PyTuple_CheckExact(given[1]) || PyList_CheckExact(given[1])))
        return PyObject_Vectorcall(make_node_in_python, given, nargs, NULL);
    return make_node(given[0], facts, given[1], given[2], modes);
}

PyObject *speedups_connect_nodes(PyObject *module, PyObject *given)
{
    static const char *const of_node[] = {"call", "raw_edges", "result", "saved", "seq", "versions", "watched", NULL};
    if (!(OpNode_.type = (PyTypeObject *)take(given, "OpNode"))
            || lookup_slots((PyObject *)OpNode_.type, &OpNode_.call, of_node) < 0
            || !(make_node_in_python = take(given, "make_node")) || !(saving_result = take(given, "_saving_result"))
            || !(special_node = take(given, "_special_node")) || !(edge_of = take(given, "edge_of"))
            || !(with_node = take(given, "_with_node")) || !(class_by_shapes = take(given, "class_by_shapes"))
            || !(checked_in_python = take(given, "checked")) || !(next_number = take(given, "_next_number"))
            || !(unsaved = take(given, "UNSAVED")) || !(leaf_number = PyLong_FromLong(LEAF)) || !(nothing = PyTuple_New(0))
            || !(result_name = PyUnicode_InternFromString("result")))
        return NULL;
    Py_RETURN_NONE;
}
