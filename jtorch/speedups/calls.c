/* jtorch.dispatch: a call of an op on tensors and numbers, with its node; and a call that writes to its first argument. */

#include "speedups.h"

struct Call_class Call_;
struct OpNode_class OpNode_;

static PyObject *mode, *calls, *call_in_python, *of_tape, *make_node_in_python, *saving_result, *special_node, *edge_of;
static PyObject *with_node, *wrapped, *refuse_unusable, *end_record, *next_number, *unsaved, *leaf_number, *nothing, *one_result;
static PyObject *inplace_in_python, *raise_instead, *fit, *class_by_shapes, *checked_in_python, *autocast_name, *grad_name, *inference_name, *special_name, *result_name;

/* The thread's modes, as the dict behind jtorch.no_grad.mode: borrowed. */
static PyObject *current_mode(void)
{
    static uint64_t thread = 0;
    static PyObject *found = NULL;
    uint64_t now = PyThreadState_GetID(PyThreadState_Get());
    if (found == NULL || now != thread) {
        PyObject *modes = PyObject_GetAttrString(mode, "__dict__");
        if (modes == NULL)
            return NULL;
        Py_XSETREF(found, modes);
        thread = now;
    }
    return found;
}

static int is_on(PyObject *modes, PyObject *name, int by_default)
{
    PyObject *set_to = PyDict_GetItemWithError(modes, name);
    return set_to == NULL ? by_default : set_to == Py_True;
}

/* What the tape has to know of a call; -1 with an error. */
static long facts_of(PyObject *call)
{
    PyObject *facts = SLOT(call, Call_.of_tape);
    if (!is_none(facts))
        return PyLong_AsLong(facts);
    facts = PyObject_CallOneArg(of_tape, call);
    if (facts == NULL)
        return -1;
    long found = PyLong_AsLong(facts);
    Py_DECREF(facts);
    return found;
}

/* ---------------------------------------------------------------- the node */

static PyObject *pair(PyObject *a, PyObject *b)
{
    return PyTuple_Pack(2, a, b);
}

/* What lets a later backward see whether a saved tensor was written to: (counter, version). */
static PyObject *noted(PyObject *t)
{
    PyObject *storage = SLOT(t, Tensor_.storage), *counter = SLOT(t, Tensor_.counter);
    if (is_none(SLOT(t, Tensor_.view)) && is_none(counter) && is_none(SLOT(t, Tensor_.base)))
        return pair(storage, SLOT(storage, Storage_.version));
    PyObject *seen = Seen_.type->tp_alloc(Seen_.type, 0);
    if (seen == NULL)
        return NULL;
    SLOT(seen, Seen_.counter) = Py_NewRef(is_none(counter) ? storage : counter);
    SLOT(seen, Seen_.storage) = Py_NewRef(storage);
    SLOT(seen, Seen_.view) = Py_NewRef(SLOT(t, Tensor_.view));
    SLOT(seen, Seen_.tensor) = PyWeakref_NewRef(t, NULL);
    PyObject *version = SLOT(seen, Seen_.tensor) ? version_of(seen) : NULL;
    PyObject *made = version ? pair(seen, version) : NULL;
    Py_XDECREF(version);
    Py_DECREF(seen);
    return made;
}

/* Where the gradient of an argument goes: a new reference, to None if it needs none. */
static PyObject *edge_from(PyObject *t, PyObject *value)
{
    PyObject *node = SLOT(t, Tensor_.node), *base = SLOT(t, Tensor_.base);
    if (is_none(base)) {
        if (SLOT(t, Tensor_.requires_grad) != Py_True)
            return Py_NewRef(Py_None);
        return is_none(node) ? pair(t, leaf_number) : pair(node, SLOT(t, Tensor_.output_nr));
    }
    if (SLOT(SLOT(value, Value_.aval), Aval_.kind) != Py_True || !requires_grad(t))
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

/* Whether a node that saves this argument can be made here; Python knows of memory shared with NumPy, and of errors. */
static int can_be_saved(PyObject *t)
{
    PyObject *storage = SLOT(t, Tensor_.storage);
    return Py_IS_TYPE(storage, Storage_.type) && !is_none(SLOT(storage, Storage_.value)) && SLOT(t, Tensor_.inference) == Py_False;
}

/* The class of a call's nodes, borrowed; that of some ops depends on the shapes of the arguments. */
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
        Py_XDECREF(made);       /* it is kept in ``known`` */
        found = made != NULL ? PyDict_GetItemWithError(known, key) : NULL;
    }
    Py_XDECREF(key);
    return found;
}

/* The positions of what the version check looks at (with "result"), borrowed; None where it looks at all that is saved.
   It depends on the call and on which arguments need a gradient. */
static PyObject *checked(PyObject *call, PyObject *edges)
{
    Py_ssize_t n = PyTuple_GET_SIZE(edges);
    unsigned long pattern = 1;      /* in front of a bit for each edge */
    for (Py_ssize_t i = 0; i < n; i++)
        pattern = pattern << 1 | !is_none(PyTuple_GET_ITEM(edges, i));
    PyObject *known = SLOT(call, Call_.nodes), *key = PyLong_FromUnsignedLong(n < 31 ? pattern : 0);
    PyObject *found = key != NULL && n < 31 ? PyDict_GetItemWithError(known, key) : NULL;
    if (found == NULL && key != NULL && !PyErr_Occurred()) {
        found = PyObject_CallFunctionObjArgs(checked_in_python, call, edges, key, NULL);
        Py_XDECREF(found);      /* it is kept in ``known`` */
    }
    Py_XDECREF(key);
    return found;
}

/* Only the versions that are checked. */
static PyObject *kept_versions(PyObject *call, PyObject *edges, PyObject *versions)
{
    PyObject *few = checked(call, edges);
    if (few == NULL || is_none(few))
        return Py_XNewRef(few == NULL ? NULL : versions);
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
    SLOT(node, OpNode_.seq) = number;
    SLOT(node, OpNode_.watched) = Py_NewRef(Py_False);
    SLOT(node, OpNode_.result) = Py_NewRef(Py_None);
    return node;
}

/* The node of a call that has been recorded. See jtorch.dispatch.calls.make_node. */
static PyObject *make_node(PyObject *call, long facts, PyObject *flat, PyObject *args, PyObject *modes)
{
    int saves = (facts & SAVES) != 0;
    Py_ssize_t n = Py_MIN(PySequence_Fast_GET_SIZE(flat), PyList_GET_SIZE(args));
    PyObject **given = PySequence_Fast_ITEMS(flat), *node = NULL;
    for (Py_ssize_t i = 0; saves && i < n; i++)
        if (Py_IS_TYPE(PyList_GET_ITEM(args, i), Value_.type) && !can_be_saved(given[i]))
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
            goto done;
    }
    if (edges != NULL && versions != NULL)
        node = new_node(call, facts, args, edges, versions);
    if (node != NULL && is_on(modes, special_name, 0)) {
        PyObject *done = PyObject_CallFunctionObjArgs(special_node, node, flat, NULL);
        if (done == NULL)
            Py_CLEAR(node);
        Py_XDECREF(done);
    }
done:
    Py_XDECREF(edges);
    Py_XDECREF(versions);
    return node;
}

/* The result of an op whose backward uses it: it must not be written to until then. */
static PyObject *wrap_saved(PyObject *out, PyObject *node, long facts, PyObject *modes)
{
    if (is_on(modes, special_name, 0))
        return PyObject_CallFunctionObjArgs(saving_result, out, node, NULL);
    PyObject *few = facts & HAS_CHECKS ? checked(SLOT(node, OpNode_.call), SLOT(node, OpNode_.raw_edges)) : Py_None;
    int counts = few == NULL ? -1 : is_none(few) ? 1 : PySequence_Contains(few, result_name);
    PyObject *t = counts < 0 ? NULL : wrap_value(out, node, 0, NULL);
    if (t == NULL || !counts)
        return t;
    PyObject *storage = SLOT(t, Tensor_.storage), *before = SLOT(node, OpNode_.versions);
    PyObject *entry = pair(storage, SLOT(storage, Storage_.version)), *one = entry ? PyTuple_Pack(1, entry) : NULL;
    PyObject *versions = one == NULL ? NULL : facts & SAVES_BOTH ? PySequence_Concat(before, one) : Py_NewRef(one);
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

/* The tensor of a recorded call that is differentiated. */
static PyObject *tracked(PyObject *call, long facts, PyObject *flat, PyObject *args, PyObject *out, PyObject *modes)
{
    if (!Py_IS_TYPE(out, Value_.type) || !(facts & DIFFERENTIABLE) || SLOT(SLOT(out, Value_.aval), Aval_.kind) != Py_True)
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

/* ---------------------------------------------------------------- the call */

/* An error has been raised; gives way to that of a view that may not be used any more, which comes first. */
static PyObject *refused(PyObject *call, PyObject *flat)
{
    PyObject *type, *error, *trace;
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return NULL;
    PyErr_Fetch(&type, &error, &trace);
    PyObject *done = PyObject_CallFunctionObjArgs(refuse_unusable, call, flat, NULL);
    if (done != NULL) {
        Py_DECREF(done);
        PyErr_Restore(type, error, trace);
    } else {
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(trace);
    }
    return NULL;
}

/* What a call's tensors show, and its numbers: a list. NULL without an error where Python has to call. */
static PyObject *arguments(PyObject *flat, long facts, int *needs)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(flat);
    PyObject **given = PySequence_Fast_ITEMS(flat), *args = PyList_New(n);
    for (Py_ssize_t i = 0; args != NULL && i < n; i++) {
        PyObject *t = given[i], *value;
        if (is_number(t)) {
            value = Py_NewRef(t);
        } else if (!is_a(t, Tensor_.type) || SLOT(t, Tensor_.view) == NULL) {
            value = NULL;
        } else {
            PyObject *view = SLOT(t, Tensor_.view);
            int laid_out = !is_none(view) && (facts & LAID_OUT) && SLOT(view, View_.in_order) != Py_True;
            value = laid_out ? NULL : value_of(t);
            *needs = *needs || requires_grad(t);
        }
        if (value == NULL) {
            Py_CLEAR(args);
        } else {
            PyList_SET_ITEM(args, i, value);
        }
    }
    return args;
}

static PyObject *recorded(PyObject *call, long facts, PyObject *flat, PyObject *args, int tracks, PyObject *modes)
{
    PyObject *rec = tracks ? current_record() : NULL;
    if (rec != NULL && SLOT(rec, Record_.after_backward) == Py_True) {
        PyObject *ended = PyObject_CallNoArgs(end_record);
        if (ended == NULL)
            return NULL;
        Py_DECREF(ended);
    }
    PyObject *out = record_call(call, args), *made = NULL;
    if (out == NULL)
        return NULL;
    if (tracks)
        made = tracked(call, facts, flat, args, out, modes);
    else if (!Py_IS_TYPE(out, Value_.type))
        made = PyObject_CallOneArg(wrapped, out);
    else
        made = wrap_value(out, NULL, 0, NULL);
    Py_DECREF(out);
    if (made != NULL && Py_IS_TYPE(made, Tensor_.type) && is_on(modes, inference_name, 0))
        set(made, Tensor_.inference, Py_True);
    return made;
}

/* call(c, flat) */
PyObject *speedups_call(PyObject *module, PyObject *const *given, Py_ssize_t nargs)
{
    if (nargs != 2 || !Py_IS_TYPE(given[0], Call_.type)) {
        PyErr_SetString(PyExc_TypeError, "call() takes a call and its arguments");
        return NULL;
    }
    PyObject *call = given[0], *flat = given[1], *modes = current_mode();
    long facts = facts_of(call);
    if (modes == NULL || facts < 0)
        return NULL;
    PyObject *autocast = PyDict_GetItemWithError(calls, autocast_name), *args = NULL;
    int needs = 0;
    if (autocast == Py_None && (PyTuple_CheckExact(flat) || PyList_CheckExact(flat)))
        args = arguments(flat, facts, &needs);
    if (args == NULL)
        return PyErr_Occurred() ? NULL : PyObject_CallFunctionObjArgs(call_in_python, call, flat, NULL);
    int tracks = needs && is_on(modes, grad_name, 1) && !is_on(modes, inference_name, 0);
    PyObject *made = recorded(call, facts, flat, args, tracks, modes);
    Py_DECREF(args);
    return made != NULL ? made : refused(call, flat);
}

/* ---------------------------------------------------------------- in place */

/* Whether an update is as optimizers written by hand make it: without history, of a whole tensor, by other memory. */
static int is_plain_update(PyObject *flat, long facts, PyObject *modes)
{
    if ((facts & INPLACE_IN_PYTHON) || is_on(modes, grad_name, 1) || !(PyTuple_CheckExact(flat) || PyList_CheckExact(flat)))
        return 0;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(flat);
    PyObject **given = PySequence_Fast_ITEMS(flat), *target = n ? given[0] : NULL;
    if (target == NULL || !is_a(target, Tensor_.type) || SLOT(target, Tensor_.inference) != Py_False
            || !is_none(SLOT(target, Tensor_.view)))
        return 0;
    for (Py_ssize_t i = 1; i < n; i++)
        if (!is_number(given[i]) && (!is_a(given[i], Tensor_.type)
                                     || SLOT(given[i], Tensor_.storage) == SLOT(target, Tensor_.storage)))
            return 0;
    return 1;
}

/* An error has been raised; gives way to the one that PyTorch has for it in place. */
static PyObject *explained(PyObject *call, PyObject *flat, PyObject *target)
{
    PyObject *type, *error, *trace;
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return NULL;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    PyObject *done = PyObject_CallFunctionObjArgs(raise_instead, call, flat, target, error, NULL);
    if (done != NULL) {
        Py_DECREF(done);
        PyErr_Restore(type, error, trace);
    } else {
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(trace);
    }
    return NULL;
}

/* The value to write: as the target's dtype and shape want it. Steals ``out``. */
static PyObject *fitted(PyObject *out, PyObject *target)
{
    PyObject *aval = SLOT(SLOT(target, Tensor_.storage), Storage_.aval);
    if (out != NULL && PyList_CheckExact(out))
        Py_SETREF(out, Py_NewRef(PyList_GET_ITEM(out, 0)));
    if (out == NULL || SLOT(out, Value_.aval) == aval)
        return out;
    PyObject *made = PyObject_CallFunctionObjArgs(fit, out, aval, NULL);
    Py_DECREF(out);
    return made;
}

/* call_inplace(c, flat, target=None, name=None) */
PyObject *speedups_call_inplace(PyObject *module, PyObject *const *given, Py_ssize_t nargs, PyObject *names)
{
    PyObject *modes = current_mode();
    long facts = nargs == 2 && Py_IS_TYPE(given[0], Call_.type) ? facts_of(given[0]) : INPLACE_IN_PYTHON;
    if (modes == NULL || facts < 0)
        return NULL;
    if (nargs != 2 || (names != NULL && PyTuple_GET_SIZE(names)) || !is_plain_update(given[1], facts, modes))
        return PyObject_Vectorcall(inplace_in_python, given, nargs, names);
    PyObject *call = given[0], *flat = given[1], *target = PySequence_Fast_ITEMS(flat)[0];
    int needs = 0;
    PyObject *args = arguments(flat, 0, &needs);
    if (args == NULL)
        return PyErr_Occurred() ? NULL : PyObject_Vectorcall(inplace_in_python, given, nargs, names);
    PyObject *out = record_call(call, args);
    Py_DECREF(args);
    if (out == NULL)
        return explained(call, flat, target);
    PyObject *value = fitted(out, target);
    int written = value == NULL ? -1 : write_plainly(target, value);
    if (written == 0) {
        PyObject *done = PyObject_CallFunctionObjArgs(one_result, target, value, NULL);
        written = done == NULL ? -1 : 1;
        Py_XDECREF(done);
    }
    Py_XDECREF(value);
    return written < 0 ? NULL : Py_NewRef(target);
}

PyObject *speedups_connect_calls(PyObject *module, PyObject *given)
{
    static const char *const of_call[] = {"node_class", "nodes", "of_tape", NULL};
    static const char *const of_node[] = {"call", "raw_edges", "result", "saved", "seq", "versions", "watched", NULL};
    if (!(Call_.type = (PyTypeObject *)take(given, "Call")) || !(OpNode_.type = (PyTypeObject *)take(given, "OpNode"))
            || lookup_slots((PyObject *)Call_.type, &Call_.node_class, of_call) < 0
            || lookup_slots((PyObject *)OpNode_.type, &OpNode_.call, of_node) < 0
            || !(mode = take(given, "mode")) || !(call_in_python = take(given, "call")) || !(of_tape = take(given, "of_tape"))
            || !(checked_in_python = take(given, "checked"))
            || !(class_by_shapes = take(given, "class_by_shapes")) || !(make_node_in_python = take(given, "make_node")) || !(saving_result = take(given, "_saving_result"))
            || !(special_node = take(given, "_special_node")) || !(edge_of = take(given, "edge_of"))
            || !(with_node = take(given, "_with_node")) || !(wrapped = take(given, "_wrapped"))
            || !(refuse_unusable = take(given, "refuse_unusable")) || !(end_record = take(given, "_end"))
            || !(next_number = take(given, "_next_number")) || !(unsaved = take(given, "UNSAVED"))
            || !(leaf_number = PyLong_FromLong(LEAF)) || !(nothing = PyTuple_New(0))
            || !(autocast_name = PyUnicode_InternFromString("autocast")) || !(grad_name = PyUnicode_InternFromString("grad"))
            || !(inference_name = PyUnicode_InternFromString("inference"))
            || !(result_name = PyUnicode_InternFromString("result"))
            || !(special_name = PyUnicode_InternFromString("special")))
        return NULL;
    calls = Py_NewRef(given);
    Py_RETURN_NONE;
}

PyObject *speedups_connect_inplace(PyObject *module, PyObject *given)
{
    if (!(inplace_in_python = take(given, "call_inplace")) || !(raise_instead = take(given, "_raise_instead"))
            || !(fit = take(given, "fit")) || !(one_result = take(given, "_write")))
        return NULL;
    Py_RETURN_NONE;
}
