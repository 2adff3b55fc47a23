/* jtorch.dispatch: calls ops on tensors and numbers and makes their nodes. Some of the ops write to their first argument. */

#include "speedups.h"
#include <float.h>

static PyObject *mode, *call_in_python, *tape_flags, *wrapped, *refuse_unusable, *end_trace, *lay_out_results;
static PyObject *inplace_in_python, *raise_instead, *fit, *check_numbers, *float32, *float64;
static PyObject *grad_name, *prev_name, *inference_name, *special_name;

static int detour;       /* 1 while Python does all calls: see jtorch.dispatch.calls.detour */

/* Returns the dict of the thread's modes, which jtorch.no_grad.mode keeps: borrowed. */
PyObject *current_mode(void)
{
    static struct of_thread kept;
    return of_this_thread(&kept, mode, "__dict__");
}

static int is_on(PyObject *modes, PyObject *name, int by_default)
{
    PyObject *set_to = PyDict_GetItemWithError(modes, name);
    return set_to == NULL ? by_default : set_to == Py_True || PyObject_IsTrue(set_to) == 1;
}

int is_grad_on(PyObject *modes)
{
    return is_on(modes, grad_name, 1);
}

int is_inference_on(PyObject *modes)
{
    return is_on(modes, inference_name, 0);
}

int goes_by_python(void)
{
    return detour;
}

/* Tells whether a mode affects new nodes: anomaly detection, hooks on saved tensors, or allow_mutation_on_saved_tensors. */
int is_special(PyObject *modes)
{
    return is_on(modes, special_name, 0);
}

/* Returns the facts of a call that the tape needs (Call.tape_flags); -1 with an error. */
long facts_of(PyObject *call)
{
    PyObject *facts = SLOT(call, Call_.tape_flags);
    if (!is_none(facts))
        return PyLong_AsLong(facts);
    facts = PyObject_CallOneArg(tape_flags, call);
    if (facts == NULL)
        return -1;
    long found = PyLong_AsLong(facts);
    Py_DECREF(facts);
    return found;
}

/* Replaces the current error by the error that ``fn(call, flat)`` raises, if any. With a ``target`` it calls
   fn(call, flat, target, error). */
static PyObject *replace_error(PyObject *fn, PyObject *call, PyObject *flat, PyObject *target)
{
    PyObject *type, *error, *trace;
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return NULL;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    if (done(PyObject_CallFunctionObjArgs(fn, call, flat, target, error, NULL)) == 0) {     /* a NULL target ends the list */
        PyErr_Restore(type, error, trace);
    } else {
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(trace);
    }
    return NULL;
}

/* Tells whether a number is an integer outside int64. */
static int is_large(PyObject *number)
{
    int overflow = 0;
    if (PyLong_CheckExact(number))
        PyLong_AsLongLongAndOverflow(number, &overflow);
    return overflow;
}

/* Tells whether a number may overflow in the dtype in which the call computes. ``first`` is the call's first argument. */
static int is_doubtful(PyObject *number, PyObject *first)
{
    if (PyBool_Check(number))
        return 0;
    if (PyLong_CheckExact(number)) {
        int overflow;
        long n = PyLong_AsLongAndOverflow(number, &overflow);
        return overflow || n < -128 || n > 127;
    }
    if (!PyFloat_CheckExact(number))
        return 1;
    double x = PyFloat_AS_DOUBLE(number);
    if (x >= 0 && x <= 127)
        return 0;
    if (is_number(first) || SLOT(aval_of(first), Aval_.is_inexact) != Py_True)
        return 1;
    PyObject *dtype = SLOT(aval_of(first), Aval_.dtype);
    double limit = dtype == float32 || dtype == float64 ? FLT_MAX : 240;
    return x - x == 0 && (x < -limit || x > limit);
}

/* dispatch.numbers: raises an error if a number overflows in the dtype in which the call computes. */
static int check_fit(PyObject *call, PyObject *flat, long facts)
{
    if (!(facts & FITS))
        return 0;
    PyObject **given = PySequence_Fast_ITEMS(flat);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(flat); i++)
        if (is_number(given[i]) && is_doubtful(given[i], given[0]))
            return done(PyObject_CallFunctionObjArgs(check_numbers, call, flat, NULL));
    return 0;
}

/* Returns a list of the values of the call's tensors and its numbers. NULL, perhaps without an error: Python does the call.
   Sets ``needs`` if a tensor requires grad. Sets ``strided`` if the op has a layout rule and a tensor's elements are not in
   order in memory. */
static PyObject *arguments(PyObject *flat, long facts, int *needs, int *strided)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(flat);
    PyObject **given = PySequence_Fast_ITEMS(flat), *args = PyList_New(n);
    for (Py_ssize_t i = 0; args != NULL && i < n; i++) {
        PyObject *t = given[i], *value;
        if (is_number(t)) {
            value = is_large(t) ? NULL : Py_NewRef(t);
        } else if (!is_a(t, Tensor_.type) || SLOT(t, Tensor_.view) == NULL) {
            value = NULL;
        } else {
            PyObject *view = SLOT(t, Tensor_.view);
            *strided = *strided || (!is_none(view) && (facts & LAID_OUT) && SLOT(view, View_.in_order) != Py_True);
            value = value_of(t);
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
    PyObject *trace = tracks ? current_trace() : NULL;
    if (trace != NULL && SLOT(trace, Trace_.after_backward) == Py_True && done(PyObject_CallNoArgs(end_trace)) < 0)
        return NULL;
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
    if (made != NULL && Py_IS_TYPE(made, Tensor_.type) && is_inference_on(modes))
        set(made, Tensor_.inference, Py_True);
    return made;
}

/* Tells whether the call's results are known to be contiguous for these strides: see jtorch.dispatch.calls.layout_of. */
static int is_contiguous(PyObject *call, PyObject *flat, PyObject *made)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(flat);
    PyObject *key = Py_IS_TYPE(made, Tensor_.type) ? PyList_New(0) : NULL;
    int bad = key == NULL || PyList_Append(key, SLOT(SLOT(SLOT(made, Tensor_.storage), Storage_.aval), Aval_.shape)) < 0;
    for (Py_ssize_t i = 0; !bad && i < n; i++) {
        PyObject *t = PySequence_Fast_ITEMS(flat)[i], *view = is_number(t) ? NULL : SLOT(t, Tensor_.view);
        if (view == NULL)
            continue;
        PyObject *how = is_none(view) ? Py_NewRef(aval_of(t)) : PyTuple_Pack(2, SLOT(view, View_.aval), SLOT(view, View_.stride));
        bad = how == NULL || PyList_Append(key, how) < 0;
        Py_XDECREF(how);
    }
    PyObject *asked = bad ? NULL : PyList_AsTuple(key);
    PyObject *found = asked != NULL ? PyDict_GetItemWithError(SLOT(call, Call_.nodes), asked) : NULL;
    Py_XDECREF(asked);
    Py_XDECREF(key);
    return found != NULL && PyTuple_CheckExact(found) && PyTuple_GET_SIZE(found) == 2;
}

/* Gives a call's results (stolen) the strides of the op's layout rule. */
static PyObject *laid_out(PyObject *call, PyObject *flat, PyObject *made, int needs)
{
    if (made == NULL || is_contiguous(call, flat, made))
        return made;
    PyObject *out = PyErr_Occurred() ? NULL
        : PyObject_CallFunctionObjArgs(lay_out_results, call, flat, made, needs ? Py_True : Py_False, NULL);
    Py_DECREF(made);
    return out;
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
    PyObject *args = NULL;
    int needs = 0, strided = 0;
    if (!detour && (PyTuple_CheckExact(flat) || PyList_CheckExact(flat)))
        args = arguments(flat, facts, &needs, &strided);
    if (args == NULL)
        return PyErr_Occurred() ? NULL : PyObject_CallFunctionObjArgs(call_in_python, call, flat, NULL);
    int tracks = needs && is_grad_on(modes) && !is_inference_on(modes);
    PyObject *made = check_fit(call, flat, facts) < 0 ? NULL : recorded(call, facts, flat, args, tracks, modes);
    Py_DECREF(args);
    if (strided)
        made = laid_out(call, flat, made, needs);
    return made != NULL ? made : replace_error(refuse_unusable, call, flat, NULL);
}

/* ---------------------------------------------------------------- in place */

/* Tells whether a tensor's elements lie in memory in their order, without gaps. */
static int is_in_order(PyObject *tensor)
{
    PyObject *view = SLOT(tensor, Tensor_.view);
    return is_none(view) || (view != NULL && SLOT(view, View_.in_order) == Py_True);
}

/* Tells whether an update in place needs no history and no check: its target is in order and no inference tensor, no source
   shares the target's storage, and no tensor requires a gradient while grad mode is on. */
static int is_plain_update(PyObject *flat, long facts, PyObject *modes)
{
    if ((facts & INPLACE_IN_PYTHON) || !(PyTuple_CheckExact(flat) || PyList_CheckExact(flat)))
        return 0;
    int may_track = is_grad_on(modes);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(flat);
    PyObject **given = PySequence_Fast_ITEMS(flat), *target = n ? given[0] : NULL;
    if (target == NULL || !is_a(target, Tensor_.type) || SLOT(target, Tensor_.inference) != Py_False || !is_in_order(target))
        return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (is_number(given[i]))
            continue;
        if (!is_a(given[i], Tensor_.type) || SLOT(given[i], Tensor_.view) == NULL
                || (i && SLOT(given[i], Tensor_.storage) == SLOT(target, Tensor_.storage)) || (may_track && requires_grad(given[i])))
            return 0;
    }
    return 1;
}

/* Converts the value to write to the target's dtype and shape. Steals ``out``. */
static PyObject *fitted(PyObject *out, PyObject *target)
{
    PyObject *aval = aval_of(target);
    if (out != NULL && PyList_CheckExact(out))
        Py_SETREF(out, Py_NewRef(PyList_GET_ITEM(out, 0)));
    if (out == NULL || SLOT(out, Value_.aval) == aval)
        return out;
    PyObject *made = PyObject_CallFunctionObjArgs(fit, out, aval, NULL);
    Py_DECREF(out);
    return made;
}

/* call_inplace(c, flat, name=None) */
PyObject *speedups_call_inplace(PyObject *module, PyObject *const *given, Py_ssize_t nargs, PyObject *names)
{
    PyObject *modes = current_mode();
    long facts = nargs == 2 && Py_IS_TYPE(given[0], Call_.type) ? facts_of(given[0]) : INPLACE_IN_PYTHON;
    if (modes == NULL || facts < 0)
        return NULL;
    if (detour || nargs != 2 || (names != NULL && PyTuple_GET_SIZE(names)) || !is_plain_update(given[1], facts, modes))
        return PyObject_Vectorcall(inplace_in_python, given, nargs, names);
    PyObject *call = given[0], *flat = given[1], *target = PySequence_Fast_ITEMS(flat)[0];
    int needs = 0, strided = 0;
    PyObject *args = arguments(flat, 0, &needs, &strided);
    if (args == NULL)
        return PyErr_Occurred() ? NULL : PyObject_Vectorcall(inplace_in_python, given, nargs, names);
    if (check_fit(call, flat, facts) < 0) {
        Py_DECREF(args);
        return replace_error(raise_instead, call, flat, target);
    }
    int is_whole = is_none(SLOT(target, Tensor_.view));
    if (is_whole && will_be_written(target) < 0) {
        Py_DECREF(args);
        return NULL;
    }
    PyObject *out = is_whole ? record_over(call, args) : record_call(call, args);
    Py_DECREF(args);
    if (out == NULL)
        return replace_error(raise_instead, call, flat, target);
    PyObject *value = fitted(out, target);
    int failed = value == NULL || write_value(target, value) < 0;
    Py_XDECREF(value);
    return failed ? NULL : Py_NewRef(target);
}

/* no_grad.__exit__(self, *error): restores the grad mode. KeyboardInterrupt could skip the restore of a Python function, but
   not of this one. See jtorch.no_grad.restore_grad. */
PyObject *speedups_restore_grad(PyObject *module, PyObject *const *given, Py_ssize_t nargs)
{
    PyObject *before = nargs ? PyObject_GetAttr(given[0], prev_name) : NULL, *modes = before != NULL ? current_mode() : NULL;
    if (!nargs)
        PyErr_SetString(PyExc_TypeError, "__exit__() takes a grad mode");
    int failed = modes == NULL || PyDict_SetItem(modes, grad_name, before) < 0;
    Py_XDECREF(before);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

/* set_detour(bool) */
PyObject *speedups_set_detour(PyObject *module, PyObject *given)
{
    detour = given == Py_True;
    Py_RETURN_NONE;
}

PyObject *speedups_connect_mode(PyObject *module, PyObject *given)
{
    static PyMethodDef restore = {"__exit__", (PyCFunction)(void (*)(void))speedups_restore_grad, METH_FASTCALL,
                                  "Sets the grad mode to what it was."};
    if (!(mode = take(given, "mode")) || !(grad_name = PyUnicode_InternFromString("grad")) || !(prev_name = PyUnicode_InternFromString("prev"))
            || !(inference_name = PyUnicode_InternFromString("inference"))
            || !(special_name = PyUnicode_InternFromString("special")))
        return NULL;
    PyObject *function = PyCFunction_New(&restore, NULL), *method = function ? PyInstanceMethod_New(function) : NULL;
    Py_XDECREF(function);
    return method;
}

PyObject *speedups_connect_calls(PyObject *module, PyObject *given)
{
    if (!(call_in_python = take(given, "call")) || !(tape_flags = take(given, "tape_flags"))
            || !(wrapped = take(given, "_wrapped")) || !(refuse_unusable = take(given, "refuse_unusable"))
            || !(check_numbers = take(given, "check_numbers")) || !(float32 = take(given, "float32"))
            || !(float64 = take(given, "float64")) || !(end_trace = take(given, "_end")) || !(lay_out_results = take(given, "lay_out_results")))
        return NULL;
    return speedups_connect_nodes(module, given);
}

PyObject *speedups_connect_inplace(PyObject *module, PyObject *given)
{
    if (!(inplace_in_python = take(given, "call_inplace")) || !(raise_instead = take(given, "_raise_instead"))
            || !(fit = take(given, "fit")))
        return NULL;
    Py_RETURN_NONE;
}
