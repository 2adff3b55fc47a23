/* jtorch._nodes.replay: repeats in one step a backward that was walked before from the same state of the trace. */

#include "speedups.h"

CLASS(Walk, after, avals, count, entering, leaves, steps, through);
struct Walk_class Walk_;

static PyObject *accumulate_in_python, *is_watched, *shape_only_value, *zero_stride_arrays, *nothing;
static PyTypeObject *conditionally_saved_node, *copy_slices;

/* ---------------------------------------------------------------- checking that the recorded walk matches */

struct meeting {
    PyObject *trace, *values, *entering;    /* the trace, its values, and the avals that enter with the walk: all borrowed */
    PyObject *entered, *slots, *numbers;    /* lists: the values that enter the trace, their slots, and Python numbers */
    PyObject **met;                         /* nodes and leaves in the walk's order: borrowed, since the root holds them */
};

/* Tells whether a value has the slot that the walk recorded, or now enters the trace at this slot with the recorded aval.
   -1 with an error. */
static int is_in_place(PyObject *v, PyObject *slot, struct meeting *m)
{
    if (SLOT(v, Value_.stamp) == m->trace)
        return same_int(SLOT(v, Value_.slot), slot);
    PyObject *aval = PyDict_GetItemWithError(m->entering, slot);
    if (aval == NULL || aval != SLOT(v, Value_.aval) || is_none(SLOT(v, Value_.array)))
        return 0;
    set(v, Value_.stamp, m->trace);
    set(v, Value_.slot, slot);
    return PyList_Append(m->entered, v) < 0 || PyList_Append(m->slots, slot) < 0 ? -1 : 1;
}

static int are_in_place(PyObject *saved, PyObject *slots, struct meeting *m)
{
    Py_ssize_t n = PyTuple_GET_SIZE(slots);
    if (!PyList_CheckExact(saved) || PyList_GET_SIZE(saved) != n)
        return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *v = PyList_GET_ITEM(saved, i), *slot = PyTuple_GET_ITEM(slots, i);
        int is_value = Py_IS_TYPE(v, Value_.type);
        if (is_none(slot)) {
            if (is_value)
                return 0;
            if (PyList_Append(m->numbers, v) < 0)
                return -1;
            continue;
        }
        int found = is_value ? is_in_place(v, slot, m) : 0;
        if (found <= 0)
            return found;
    }
    return 1;
}

/* Tells whether nothing has written to the tensors of a node since the node saved them; -1 with an error. */
int are_unchanged(PyObject *versions)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(versions); i++) {
        PyObject *entry = PyTuple_GET_ITEM(versions, i), *counter = PyTuple_GET_ITEM(entry, 0);
        if (is_none(counter))
            continue;
        PyObject *now = version_of(counter);
        if (now == NULL)
            return -1;
        int same = same_int(now, PyTuple_GET_ITEM(entry, 1));
        Py_DECREF(now);
        if (!same)
            return 0;
    }
    return 1;
}

static int lead_on(PyObject *edges, PyObject *targets, struct meeting *m)
{
    Py_ssize_t n = PyTuple_GET_SIZE(targets);
    if (!PyTuple_CheckExact(edges) || PyTuple_GET_SIZE(edges) != n)
        return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *edge = PyTuple_GET_ITEM(edges, i), *target = PyTuple_GET_ITEM(targets, i);
        if (is_none(target) || is_none(edge)) {
            if (target != edge)
                return 0;
            continue;
        }
        Py_ssize_t at = PyLong_AsSsize_t(PyTuple_GET_ITEM(target, 0));
        if (!same_int(PyTuple_GET_ITEM(edge, 1), PyTuple_GET_ITEM(target, 1)))
            return 0;
        if (m->met[at] == NULL)
            m->met[at] = PyTuple_GET_ITEM(edge, 0);
        else if (m->met[at] != PyTuple_GET_ITEM(edge, 0))
            return 0;
    }
    return 1;
}

/* Tells whether a node matches a step of the walk: (call, number of the node, slots of the saved values, edges). An edge is
   (number of the target, output), or None. */
static int is_step(PyObject *step, struct meeting *m)
{
    PyObject *node = m->met[PyLong_AsSsize_t(PyTuple_GET_ITEM(step, 1))];
    if (!is_a(node, OpNode_.type) || SLOT(node, OpNode_.call) != PyTuple_GET_ITEM(step, 0)
            || SLOT(node, OpNode_.watched) != Py_False || is_none(SLOT(node, OpNode_.saved)))
        return 0;
    int found = are_unchanged(SLOT(node, OpNode_.versions));
    if (found > 0)
        found = are_in_place(SLOT(node, OpNode_.saved), PyTuple_GET_ITEM(step, 2), m);
    return found > 0 ? lead_on(SLOT(node, OpNode_.raw_edges), PyTuple_GET_ITEM(step, 3), m) : found;
}

/* Tells whether no hook sees the gradient of a leaf. */
static int is_unwatched(PyObject *leaf)
{
    PyObject *hooks = SLOT(leaf, Tensor_.leaf_hooks), *others = SLOT(leaf, Tensor_.post_accumulate_hooks);
    if (is_none(SLOT(leaf, Tensor_.accumulator)) && is_none(hooks) && is_none(others))
        return 1;
    PyObject *watched = PyObject_CallOneArg(is_watched, leaf);
    int found = watched == NULL ? -1 : watched == Py_False;
    Py_XDECREF(watched);
    return found;
}

static int are_unwatched(PyObject *leaves, struct meeting *m)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(leaves); i++) {
        PyObject *leaf = m->met[PyLong_AsSsize_t(PyTuple_GET_ITEM(PyTuple_GET_ITEM(leaves, i), 0))];
        int found = is_a(leaf, Tensor_.type) ? is_unwatched(leaf) : 0;
        if (found <= 0)
            return found;
    }
    return 1;
}

/* Tells whether the met nodes and leaves are distinct objects, as they were in the recorded walk. */
static int are_distinct(PyObject **met, Py_ssize_t count)
{
    size_t size = 16;
    while (size < 2 * (size_t)count)
        size *= 2;
    PyObject **table = PyMem_Calloc(size, sizeof(PyObject *));
    if (table == NULL)
        return PyErr_NoMemory(), -1;
    int distinct = 1;
    for (Py_ssize_t i = 0; distinct && i < count; i++) {
        size_t at = ((uintptr_t)met[i] >> 4) * 0x9E3779B97F4A7C15u >> 20 & (size - 1);
        while (table[at] != NULL && table[at] != met[i])
            at = (at + 1) & (size - 1);
        distinct = table[at] == NULL;
        table[at] = met[i];
    }
    PyMem_Free(table);
    return distinct;
}

static int is_walk(PyObject *walk, PyObject *grad, struct meeting *m)
{
    PyObject *steps = SLOT(walk, Walk_.steps), *leaves = SLOT(walk, Walk_.leaves);
    Py_ssize_t count = PyLong_AsSsize_t(SLOT(walk, Walk_.count));
    int found = is_in_place(grad, PyTuple_GET_ITEM(steps, 0), m);
    for (Py_ssize_t i = 1; found > 0 && i < PyTuple_GET_SIZE(steps); i++)
        found = is_step(PyTuple_GET_ITEM(steps, i), m);
    if (found > 0)
        found = are_unwatched(leaves, m);
    return found > 0 ? are_distinct(m->met, count) : found;
}

/* ---------------------------------------------------------------- repeating the walk */

/* Puts the walk's values into the trace, and sets the trace's state to the state after the walk. */
static int enter(PyObject *walk, struct meeting *m)
{
    PyObject *avals = SLOT(walk, Walk_.avals);
    Py_ssize_t n = PyList_GET_SIZE(m->values);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(avals); i++) {
        PyObject *v = new_value(PyList_GET_ITEM(avals, i), m->trace, n + i);
        if (v == NULL || PyList_Append(m->values, v) < 0) {
            Py_XDECREF(v);
            return -1;
        }
        Py_DECREF(v);
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(m->entered); i++) {
        Py_ssize_t slot = PyLong_AsSsize_t(PyList_GET_ITEM(m->slots, i));
        if (PyList_SetItem(m->values, slot, Py_NewRef(PyList_GET_ITEM(m->entered, i))) < 0)
            return -1;
    }
    PyObject *numbers = SLOT(m->trace, Trace_.numbers);
    if (PyList_SetSlice(numbers, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, m->numbers) < 0)
        return -1;
    set(m->trace, Trace_.mode, DEFERRED);
    set(m->trace, Trace_.state, SLOT(walk, Walk_.after));
    return 0;
}

/* Gives a leaf its gradient. See jtorch._backward.backward._accumulate. */
static int accumulate(PyObject *leaf, PyObject *value)
{
    if (!is_none(SLOT(leaf, Tensor_.base)) || !is_none(SLOT(leaf, Tensor_.grad)) || !is_none(SLOT(leaf, Tensor_.view))
            || SLOT(leaf, Tensor_.requires_grad) != Py_True
            || SLOT(SLOT(leaf, Tensor_.storage), Storage_.aval) != SLOT(value, Value_.aval))
        return done(PyObject_CallFunctionObjArgs(accumulate_in_python, leaf, value, NULL));
    PyObject *grad = wrap_value(value, NULL, 0, NULL);
    if (grad == NULL)
        return -1;
    put(leaf, Tensor_.grad, grad);
    return 0;
}

/* Returns a replacement for a value whose aval is needed, but not its elements. See jtorch.engine.values.shape_only_value. */
static PyObject *shape_only_value_for(PyObject *v)
{
    if (!Py_IS_TYPE(v, Value_.type))
        return Py_NewRef(v);
    PyObject *aval = SLOT(v, Value_.aval), *array = PyDict_GetItemWithError(zero_stride_arrays, aval);
    if (array == NULL)
        return PyErr_Occurred() ? NULL : PyObject_CallOneArg(shape_only_value, v);
    PyObject *made = new_value(aval, Py_None, 0);
    if (made != NULL)
        set(made, Value_.array, array);
    return made;
}

/* Frees what a node has saved. See jtorch.tape.OpNode.release. */
int release(PyObject *node)
{
    PyTypeObject *type = Py_TYPE(node);
    PyObject *facts = SLOT(SLOT(node, OpNode_.call), Call_.tape_flags), *saved = SLOT(node, OpNode_.saved);
    if (is_none(facts) || SLOT(node, OpNode_.watched) != Py_False || !PyList_CheckExact(saved)
            || PyType_IsSubtype(type, conditionally_saved_node) || PyType_IsSubtype(type, copy_slices))
        return done(PyObject_CallMethod(node, "release", NULL));
    if (!(PyLong_AsLong(facts) & SAVES)) {
        PyObject *kept = PyList_New(PyList_GET_SIZE(saved));
        for (Py_ssize_t i = 0; kept != NULL && i < PyList_GET_SIZE(saved); i++) {
            PyObject *v = shape_only_value_for(PyList_GET_ITEM(saved, i));
            if (v == NULL)
                Py_CLEAR(kept);
            else
                PyList_SET_ITEM(kept, i, v);
        }
        if (kept == NULL)
            return -1;
        put(node, OpNode_.saved, kept);
        return 0;
    }
    PyObject *versions = Py_NewRef(SLOT(node, OpNode_.versions));
    set(node, OpNode_.saved, Py_None);
    set(node, OpNode_.versions, nothing);
    count_saved(versions, -1);
    Py_DECREF(versions);
    return 0;
}

/* Returns the gradients of the leaves. */
static PyObject *values_at(PyObject *leaves, PyObject *values)
{
    PyObject *found = PyList_New(PyTuple_GET_SIZE(leaves));
    for (Py_ssize_t i = 0; found != NULL && i < PyTuple_GET_SIZE(leaves); i++) {
        Py_ssize_t slot = PyLong_AsSsize_t(PyTuple_GET_ITEM(PyTuple_GET_ITEM(leaves, i), 1));
        PyList_SET_ITEM(found, i, Py_NewRef(PyList_GET_ITEM(values, slot)));
    }
    return found;
}

static int carry_out(PyObject *walk, struct meeting *m, int retain_graph)
{
    PyObject *leaves = SLOT(walk, Walk_.leaves), *through = SLOT(walk, Walk_.through);
    PyObject *grads = values_at(leaves, m->values);     /* collected now, since adding to a gradient may end the trace */
    int failed = grads == NULL;
    for (Py_ssize_t i = 0; !failed && i < PyTuple_GET_SIZE(leaves); i++) {
        PyObject *leaf = m->met[PyLong_AsSsize_t(PyTuple_GET_ITEM(PyTuple_GET_ITEM(leaves, i), 0))];
        failed = accumulate(leaf, PyList_GET_ITEM(grads, i)) < 0;
    }
    Py_XDECREF(grads);
    if (failed)
        return -1;
    for (Py_ssize_t i = 0; !retain_graph && i < PyTuple_GET_SIZE(through); i++)
        if (release(m->met[PyLong_AsSsize_t(PyTuple_GET_ITEM(through, i))]) < 0)
            return -1;
    PyObject *now = current_trace();        /* adding to a gradient may have ended the previous trace */
    if (now == NULL)
        return -1;
    set(now, Trace_.after_backward, Py_True);
    return 0;
}

/* follow(walk, root, grad, trace, retain_graph): tells whether the recorded walk matches; if so, the whole backward is done. */
PyObject *speedups_follow(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 5 || !Py_IS_TYPE(args[0], Walk_.type) || !Py_IS_TYPE(args[2], Value_.type)
            || !Py_IS_TYPE(args[3], Trace_.type)) {
        PyErr_SetString(PyExc_TypeError, "follow() takes a walk, a node, a value, a trace and whether the graph is kept");
        return NULL;
    }
    PyObject *walk = args[0], *trace = args[3];
    Py_ssize_t count = PyLong_AsSsize_t(SLOT(walk, Walk_.count));
    int collects = PyGC_Disable();      /* see ``note`` in trace.c */
    struct meeting m = {Py_NewRef(trace), Py_NewRef(SLOT(trace, Trace_.values)), SLOT(walk, Walk_.entering),
                        PyList_New(0), PyList_New(0), PyList_New(0), PyMem_Calloc(count, sizeof(PyObject *))};
    int found = -1;
    if (m.entered != NULL && m.slots != NULL && m.numbers != NULL && m.met != NULL) {
        m.met[0] = args[1];
        found = is_walk(walk, args[2], &m);
        if (found > 0 && enter(walk, &m) < 0) {
            set(trace, Trace_.noting, Py_True);     /* the trace holds a part of the walk: the next call begins another trace */
            found = -1;
        }
        for (Py_ssize_t i = 0; found <= 0 && i < PyList_GET_SIZE(m.entered); i++)
            set(PyList_GET_ITEM(m.entered, i), Value_.stamp, Py_None);
        for (Py_ssize_t i = 0; found > 0 && i < count; i++)
            Py_INCREF(m.met[i]);
    }
    if (collects)
        PyGC_Enable();
    if (found > 0) {
        if (carry_out(walk, &m, args[4] == Py_True) < 0)
            found = -1;
        for (Py_ssize_t i = 0; i < count; i++)
            Py_DECREF(m.met[i]);
    }
    Py_DECREF(m.trace);
    Py_DECREF(m.values);
    Py_XDECREF(m.entered);
    Py_XDECREF(m.slots);
    Py_XDECREF(m.numbers);
    PyMem_Free(m.met);
    return found < 0 ? NULL : PyBool_FromLong(found);
}

PyObject *speedups_connect_walks(PyObject *module, PyObject *given)
{
    static const char *const of_walk[] = {"after", "avals", "count", "entering", "leaves", "steps", "through", NULL};
    if (!(Walk_.type = (PyTypeObject *)take(given, "Walk"))
            || lookup_slots((PyObject *)Walk_.type, &Walk_.after, of_walk) < 0
            || !(accumulate_in_python = take(given, "_accumulate")) || !(is_watched = take(given, "is_watched"))
            || !(shape_only_value = take(given, "shape_only_value")) || !(zero_stride_arrays = take(given, "zero_stride_arrays"))
            || !(conditionally_saved_node = (PyTypeObject *)take(given, "ConditionallySavedNode"))
            || !(copy_slices = (PyTypeObject *)take(given, "CopySlices")) || !(nothing = PyTuple_New(0))
            || connect_steps(given) < 0)
        return NULL;
    Py_RETURN_NONE;
}
