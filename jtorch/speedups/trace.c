/* jtorch.engine.trace.record: looks a call up in the trie of traces. */

#include "speedups.h"

struct Value_class Value_;
struct Aval_class Aval_;
struct State_class State_;
struct Trace_class Trace_;
struct Recorder_class Recorder_;

static PyObject *local, *in_python, *record_new, *run_now, *take_back, *begin_early, *look_ahead, *end, *cut;

/* Returns the thread's recorder, which lives as long as the thread: borrowed. */
static PyObject *current_recorder(void)
{
    static struct of_thread kept;
    return of_this_thread(&kept, local, "recorder");
}

PyObject *current_trace(void)
{
    PyObject *recorder = current_recorder();
    return recorder != NULL ? SLOT(recorder, Recorder_.trace) : NULL;
}

PyObject *new_value(PyObject *aval, PyObject *trace, Py_ssize_t slot)
{
    PyObject *number = PyLong_FromSsize_t(slot);
    PyObject *v = number ? Value_.type->tp_alloc(Value_.type, 0) : NULL;
    if (v == NULL) {
        Py_XDECREF(number);
        return NULL;
    }
    SLOT(v, Value_.aval) = Py_NewRef(aval);
    SLOT(v, Value_.array) = Py_NewRef(Py_None);
    SLOT(v, Value_.born) = Py_NewRef(trace);
    SLOT(v, Value_.stamp) = Py_NewRef(trace);
    SLOT(v, Value_.slot) = number;
    return v;
}

/* Removes the values and numbers that a call has noted, because Python will look the call up instead. */
static void forget(PyObject *values, Py_ssize_t nvalues, PyObject *numbers, Py_ssize_t nnumbers)
{
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);     /* keeps a pending error */
    for (Py_ssize_t i = nvalues; i < PyList_GET_SIZE(values); i++)
        set(PyList_GET_ITEM(values, i), Value_.stamp, Py_None);
    PyList_SetSlice(values, nvalues, PY_SSIZE_T_MAX, NULL);     /* cannot fail, since shortening a list needs no memory */
    PyList_SetSlice(numbers, nnumbers, PY_SSIZE_T_MAX, NULL);
    PyErr_Restore(type, error, trace);
}

/* Returns a value's part of a call's key: its slot in the trace, or its aval if it enters the trace now.
   A new reference; NULL without an error if the value must be computed first. */
static PyObject *key_of(PyObject *v, PyObject *trace, PyObject *values)
{
    if (SLOT(v, Value_.stamp) == trace)
        return Py_NewRef(SLOT(v, Value_.slot));
    if (is_none(SLOT(v, Value_.array)))
        return NULL;
    PyObject *slot = PyLong_FromSsize_t(PyList_GET_SIZE(values));
    if (slot == NULL || PyList_Append(values, v) < 0) {
        Py_XDECREF(slot);
        return NULL;
    }
    set(v, Value_.stamp, trace);
    put(v, Value_.slot, slot);
    return Py_NewRef(SLOT(v, Value_.aval));
}

/* Returns the state after the call: borrowed. NULL, perhaps without an error: Python has to look it up.
   Sets ``is_new`` if the call is new on this path and C cannot make its state. */
static PyObject *look_up(PyObject *recorder, PyObject *call, PyObject *const *args, Py_ssize_t nargs, PyObject *trace, int *is_new)
{
    PyObject *state = SLOT(trace, Trace_.state), *values = SLOT(trace, Trace_.values), *numbers = SLOT(trace, Trace_.numbers);
    Py_ssize_t count = 1, at = 1;
    for (Py_ssize_t i = 0; i < nargs; i++)
        count += Py_IS_TYPE(args[i], Value_.type);
    PyObject *key = PyTuple_New(count);
    if (key == NULL)
        return NULL;
    PyTuple_SET_ITEM(key, 0, Py_NewRef(call));
    PyObject *found = NULL;
    for (Py_ssize_t i = 0; i < nargs; i++) {
        if (!Py_IS_TYPE(args[i], Value_.type)) {
            if (PyList_Append(numbers, args[i]) < 0)
                goto done;
            continue;
        }
        PyObject *entry = key_of(args[i], trace, values);
        if (entry == NULL)
            goto done;
        PyTuple_SET_ITEM(key, at++, entry);
    }
    found = PyDict_GetItemWithError(SLOT(state, State_.next), key);
    if ((found == NULL || is_none(found)) && !PyErr_Occurred()) {
        found = state_behind(recorder, trace, call, args, nargs, key, PyList_GET_SIZE(values));
        *is_new = found == NULL && !PyErr_Occurred();
    }
done:
    Py_DECREF(key);
    return found;
}

/* Makes the value of the call (or a list of its values) without an array, and appends it to the trace's values. */
static PyObject *results_of(PyObject *after, PyObject *trace, PyObject *values)
{
    Py_ssize_t n = PyList_GET_SIZE(values);
    PyObject *single = SLOT(after, State_.single);
    if (!is_none(single)) {
        PyObject *v = new_value(single, trace, n);
        if (v != NULL && PyList_Append(values, v) < 0)
            Py_CLEAR(v);
        return v;
    }
    PyObject *avals = SLOT(after, State_.outs);
    Py_ssize_t count = PyTuple_GET_SIZE(avals);
    PyObject *out = PyList_New(count);
    for (Py_ssize_t i = 0; out != NULL && i < count; i++) {
        PyObject *v = new_value(PyTuple_GET_ITEM(avals, i), trace, n + i);
        if (v == NULL || PyList_Append(values, v) < 0) {
            Py_XDECREF(v);
            Py_CLEAR(out);
        } else {
            PyList_SET_ITEM(out, i, v);
        }
    }
    return out;
}

/* Removes a call that has raised an error from the trace and keeps the error. An interrupt meanwhile replaces the error. */
static void take_call_back(PyObject *trace, PyObject *before, PyObject *after)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    if (done(PyObject_CallFunctionObjArgs(take_back, trace, before, after, NULL)) == 0) {
        PyErr_Restore(type, error, traceback);
        return;
    }
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
}

static int cut_if_long(PyObject *recorder, PyObject *calls)
{
    if (PyLong_AsSsize_t(calls) < PyLong_AsSsize_t(SLOT(recorder, Recorder_.longest)))
        return 0;
    return done(PyObject_CallOneArg(cut, recorder));
}

/* Runs a noted call. For a deferred call it checks the argument values and starts an early program instead. Then it ends the
   trace if the kernel demands this or if the trace has become too long. */
static int run_or_hold(PyObject *recorder, PyObject *trace, PyObject *before, PyObject *after, int held, PyObject *args)
{
    PyObject *kernel = SLOT(after, State_.kernel);
    int checks = Py_IS_TYPE(kernel, Kernel_.type) && !is_none(SLOT(kernel, Kernel_.check));
    if (!held) {
        int ran = run_on_host(trace, before, after, args);
        if (ran == 0)
            ran = done(PyObject_CallFunctionObjArgs(run_now, trace, before, after, args, NULL));
        else if (ran < 0)
            take_call_back(trace, before, after);
        if (ran < 0)
            return -1;
    } else if ((checks && done(PyObject_CallFunctionObjArgs(look_ahead, trace, before, after, NULL)) < 0)
               || (!is_none(SLOT(after, State_.early))
                   && done(PyObject_CallFunctionObjArgs(begin_early, trace, after, NULL)) < 0)) {
        return -1;
    }
    if (checks && SLOT(kernel, Kernel_.ends) == Py_True)
        return done(PyObject_CallFunctionObjArgs(end, Py_True, Py_True, NULL));
    return cut_if_long(recorder, SLOT(after, State_.depth));
}

/* Notes a call in the trace: returns its results and, as new references, the states before and after the call. Sets ``held`` if
   the call is deferred. NULL, perhaps without an error: Python notes the call, and ``is_new`` is set as by look_up. Garbage
   collection is off meanwhile: a finalizer could end the trace. */
static PyObject *note(PyObject *recorder, PyObject *trace, PyObject *call, PyObject *args, PyObject **before, PyObject **after,
                      int *held, int *is_new)
{
    if (SLOT(trace, Trace_.noting) != Py_False)
        return NULL;
    PyObject *values = SLOT(trace, Trace_.values), *numbers = SLOT(trace, Trace_.numbers), *state = SLOT(trace, Trace_.state);
    Py_ssize_t nvalues = PyList_GET_SIZE(values), nnumbers = PyList_GET_SIZE(numbers);
    int collects = PyGC_Disable();
    PyObject *out = NULL;
    PyObject *found = look_up(recorder, call, PySequence_Fast_ITEMS(args), PySequence_Fast_GET_SIZE(args), trace, is_new);
    if (found != NULL)
        out = results_of(found, trace, values);
    if (out == NULL)
        forget(values, nvalues, numbers, nnumbers);
    if (out != NULL) {
        *before = Py_NewRef(state);
        *after = Py_NewRef(found);
        *held = SLOT(found, State_.hot) == Py_True && SLOT(trace, Trace_.mode) != EAGER;
        if (*held)
            set(trace, Trace_.mode, DEFERRED);
        set(trace, Trace_.state, found);
    }
    if (collects)
        PyGC_Enable();
    return out;
}

PyObject *record_call(PyObject *call, PyObject *args)
{
    PyObject *recorder = current_recorder(), *before, *after;
    if (recorder == NULL)
        return NULL;
    int held, is_new = 0;
    PyObject *trace = Py_NewRef(SLOT(recorder, Recorder_.trace)), *out;
    Py_INCREF(recorder);
    if (PyLong_AsSsize_t(SLOT(trace, Trace_.strayed)) > 0 && SLOT(trace, Trace_.noting) == Py_False) {
        out = run_unnoted(trace, call, args);
        if (out != NULL && cut_if_long(recorder, SLOT(trace, Trace_.strayed)) < 0)
            Py_CLEAR(out);
    } else if ((out = note(recorder, trace, call, args, &before, &after, &held, &is_new)) != NULL) {
        if (run_or_hold(recorder, trace, before, after, held, args) < 0)
            Py_CLEAR(out);
        Py_DECREF(after);
        Py_DECREF(before);
    }
    if (out == NULL && !PyErr_Occurred())
        out = is_new ? PyObject_CallFunctionObjArgs(record_new, recorder, trace, call, args, NULL)
            : PyObject_CallFunctionObjArgs(in_python, call, args, NULL);
    Py_DECREF(trace);
    Py_DECREF(recorder);
    return out;
}

/* Records a call that may write into the array of its first argument. See record_call. */
PyObject *record_over(PyObject *call, PyObject *args)
{
    PyObject *trace = current_trace();
    if (trace == NULL)
        return NULL;
    Py_INCREF(trace);
    set(trace, Trace_.over, args);
    PyObject *out = record_call(call, args);
    set(trace, Trace_.over, Py_None);
    Py_DECREF(trace);
    return out;
}

static PyObject *recorded(PyObject *(*record)(PyObject *, PyObject *), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 2) {
        PyErr_SetString(PyExc_TypeError, "record() takes a call and its arguments");
        return NULL;
    }
    PyObject *list = PySequence_Fast(args[1], "record() takes a list or tuple of arguments");
    PyObject *out = list != NULL ? record(args[0], list) : NULL;
    Py_XDECREF(list);
    return out;
}

PyObject *speedups_record(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    return recorded(record_call, args, nargs);
}

PyObject *speedups_record_over(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    return recorded(record_over, args, nargs);
}

/* Returns, for each value of a list, 1 if the value is referenced outside the list, else 0. */
PyObject *speedups_liveness_of(PyObject *module, PyObject *values)
{
    if (!PyList_Check(values)) {
        PyErr_SetString(PyExc_TypeError, "liveness_of() takes a list of values");
        return NULL;
    }
    Py_ssize_t n = PyList_GET_SIZE(values);
    PyObject *held = PyBytes_FromStringAndSize(NULL, n);
    for (Py_ssize_t i = 0; held != NULL && i < n; i++)
        PyBytes_AS_STRING(held)[i] = Py_REFCNT(PyList_GET_ITEM(values, i)) > 1;
    return held;
}

PyObject *speedups_connect_trace(PyObject *module, PyObject *given)
{
    static const char *const of_value[] = {"aval", "array", "born", "slot", "stamp", NULL};
    static const char *const of_aval[] = {"device", "dtype", "is_inexact", "shape", "traced", NULL};
    static const char *const of_state[] = {"args", "call", "depth", "device", "early", "first", "hot", "kernel", "leading", "line", "next",
                                           "nnumbers", "outs", "parent", "profile", "single", "walks", NULL};
    static const char *const of_trace[] = {"after_backward", "mode", "noting", "numbers", "over", "state", "strayed", "values", NULL};
    static const char *const of_recorder[] = {"longest", "trace", "trie", NULL};
    if (!(Value_.type = (PyTypeObject *)take(given, "Value")) || !(Aval_.type = (PyTypeObject *)take(given, "Aval"))
            || !(State_.type = (PyTypeObject *)take(given, "State")) || !(Trace_.type = (PyTypeObject *)take(given, "Trace"))
            || !(Recorder_.type = (PyTypeObject *)take(given, "Recorder"))
            || lookup_slots((PyObject *)Value_.type, &Value_.aval, of_value) < 0
            || lookup_slots((PyObject *)Aval_.type, &Aval_.device, of_aval) < 0
            || lookup_slots((PyObject *)State_.type, &State_.args, of_state) < 0
            || lookup_slots((PyObject *)Trace_.type, &Trace_.after_backward, of_trace) < 0
            || lookup_slots((PyObject *)Recorder_.type, &Recorder_.longest, of_recorder) < 0
            || !(local = take(given, "local")) || !(in_python = take(given, "record"))
            || !(record_new = take(given, "record_new")) || !(run_now = take(given, "run_now")) || !(begin_early = take(given, "begin_early"))
            || !(look_ahead = take(given, "look_ahead")) || !(end = take(given, "end"))
            || !(cut = take(given, "cut")) || !(take_back = take(given, "take_back")) || connect_states(given) < 0
            || connect_host(given) < 0)
        return NULL;
    Py_RETURN_NONE;
}
