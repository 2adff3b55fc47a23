/* Runs calls with host programs: jtorch.engine.trace.run_now and jtorch.engine.host.program.HostProgram. */

#include "speedups.h"

struct Kernel_class Kernel_;
struct HostProgram_class HostProgram_;
struct Latest_class Latest_;

static PyObject *space, *computed_name, *computed, *number, *asarray, *latest, *for_latest, *contexts, *new_quiet, *is_own, *counters;
static PyTypeObject *array_type;

enum { FEW = 6 };       /* the largest number of arguments that are passed without a tuple */

/* Returns the value of a slot: borrowed. */
static PyObject *at(PyObject *slots, PyObject *place) { return PyList_GET_ITEM(slots, PyLong_AsSsize_t(place)); }

static PyObject *called_with_many(PyObject *fn, PyObject *slots, PyObject *places)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(places);
    PyObject **items = PySequence_Fast_ITEMS(places), *few[FEW];
    if (n <= FEW) {
        for (Py_ssize_t i = 0; i < n; i++)
            few[i] = Py_NewRef(at(slots, items[i]));
        PyObject *out = PyObject_Vectorcall(fn, few, n, NULL);
        for (Py_ssize_t i = 0; i < n; i++)
            Py_DECREF(few[i]);
        return out;
    }
    PyObject *all = PyTuple_New(n);
    for (Py_ssize_t i = 0; all != NULL && i < n; i++)
        PyTuple_SET_ITEM(all, i, Py_NewRef(at(slots, items[i])));
    PyObject *out = all != NULL ? PyObject_CallObject(fn, all) : NULL;
    Py_XDECREF(all);
    return out;
}

static PyObject *called(PyObject *slots, PyObject *fn, PyObject *a, PyObject *b)
{
    if (!is_none(b) && !PyLong_CheckExact(b))
        return called_with_many(fn, slots, b);
    PyObject *given[2] = {Py_NewRef(at(slots, a)), is_none(b) ? NULL : Py_NewRef(at(slots, b))};
    PyObject *out = PyObject_Vectorcall(fn, given, given[1] != NULL ? 2 : 1, NULL);
    Py_DECREF(given[0]);
    Py_XDECREF(given[1]);
    return out;
}

/* Puts a step's result into its slot, or each item of a sequence into its own slot. ``made`` is stolen. */
static int keep(PyObject *slots, PyObject *out, PyObject *made)
{
    if (PyLong_CheckExact(out))
        return PyList_SetItem(slots, PyLong_AsSsize_t(out), made);
    PyObject *items = PySequence_Fast(made, "a step of several results gives a sequence");
    Py_DECREF(made);
    if (items == NULL)
        return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
    int bad = n != PyTuple_GET_SIZE(out);
    if (bad)
        PyErr_SetString(PyExc_ValueError, "a step gave another number of results than was planned");
    for (Py_ssize_t i = 0; !bad && i < n; i++)
        bad = PyList_SetItem(slots, PyLong_AsSsize_t(PyTuple_GET_ITEM(out, i)), Py_NewRef(PySequence_Fast_GET_ITEM(items, i))) < 0;
    Py_DECREF(items);
    return bad ? -1 : 0;
}

/* HostProgram.run: runs the steps in order on a list of slots that begins with the arguments. */
static int run_steps(PyObject *slots, PyObject *code)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(code); i++) {
        PyObject *step = PyList_GET_ITEM(code, i);
        PyObject *made = called(slots, PyTuple_GET_ITEM(step, 0), PyTuple_GET_ITEM(step, 1), PyTuple_GET_ITEM(step, 2));
        if (made == NULL || keep(slots, PyTuple_GET_ITEM(step, 3), made) < 0)
            return -1;
    }
    return 0;
}

/* HostProgram.__call__: runs the steps in a context that silences NumPy's warnings. ``slots`` holds the arguments.
   Returns -1, perhaps without an error, if Python has to run them. */
static int run_quietly(PyObject *slots, PyObject *code)
{
    Py_ssize_t last = PyList_GET_SIZE(contexts) - 1;
    PyObject *quiet = last >= 0 ? Py_NewRef(PyList_GET_ITEM(contexts, last)) : PyObject_CallNoArgs(new_quiet);
    if (quiet == NULL)
        return -1;
    int bad = last >= 0 && PyList_SetSlice(contexts, last, last + 1, NULL) < 0;
    if (!bad && !(bad = PyContext_Enter(quiet) < 0)) {
        bad = run_steps(slots, code) < 0;
        PyObject *type, *error, *trace;
        PyErr_Fetch(&type, &error, &trace);
        int left = PyContext_Exit(quiet) == 0 && PyList_Append(contexts, quiet) == 0;
        if (type != NULL)
            PyErr_Restore(type, error, trace);
        bad |= !left;
    }
    if (bad && PyErr_Occurred() != PyExc_MemoryError && PyErr_ExceptionMatches(PyExc_MemoryError))
        PyErr_Clear();      /* NumPy has no memory for an array: Python tries again and raises PyTorch's error */
    Py_DECREF(quiet);
    return bad ? -1 : 0;
}

/* Returns an argument as a NumPy array. */
static PyObject *as_array(PyObject *argument)
{
    if (!Py_IS_TYPE(argument, Value_.type))
        return PyObject_CallOneArg(number, argument);
    PyObject *array = SLOT(argument, Value_.array);
    return Py_IS_TYPE(array, array_type) ? Py_NewRef(array) : PyObject_CallOneArg(asarray, array);
}

/* Returns the slots for a run with these arguments. */
static PyObject *slots_for(PyObject *program, PyObject *args)
{
    PyObject *slots = PyList_GetSlice(SLOT(program, HostProgram_.slots), 0, PY_SSIZE_T_MAX);
    for (Py_ssize_t i = 0; slots != NULL && i < PySequence_Fast_GET_SIZE(args); i++) {
        PyObject *array = as_array(PySequence_Fast_GET_ITEM(args, i));
        if (array == NULL || PyList_SetItem(slots, i, array) < 0)
            Py_CLEAR(slots);
    }
    return slots;
}

/* Returns one of the results as a NumPy array. */
static PyObject *result(PyObject *slots, PyObject *out)
{
    PyObject *array = Py_NewRef(at(slots, out));
    if (!Py_IS_TYPE(array, array_type))
        Py_SETREF(array, PyObject_CallOneArg(asarray, array));
    return array;
}

/* Gives the call's values their arrays, and clears the list of the trace from slot ``kept`` on. */
static int assign(PyObject *values, Py_ssize_t kept, PyObject *after, PyObject *slots, PyObject *outs)
{
    Py_ssize_t first = PyLong_AsSsize_t(SLOT(after, State_.first)), n = PyList_GET_SIZE(outs);
    if (PyList_GET_SIZE(values) < first + n) {
        PyErr_SetString(PyExc_ValueError, "a trace has lost the values of a call");
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *array = result(slots, PyList_GET_ITEM(outs, i));
        if (array == NULL)
            return -1;
        PyObject *v = PyList_GET_ITEM(values, first + i);
        if (Py_IS_TYPE(v, Value_.type))
            set(v, Value_.array, array);
        Py_DECREF(array);
    }
    for (Py_ssize_t i = kept; i < first + n; i++)
        if (PyList_SetItem(values, i, Py_NewRef(Py_None)) < 0)
            return -1;
    return 0;
}

/* Returns the program of a kernel that always runs on the host: borrowed. NULL: Python runs the call. */
static PyObject *program_of(PyObject *kernel)
{
    /* A timeline replaces trace._computed. Then Python runs all calls. */
    if (!Py_IS_TYPE(kernel, Kernel_.type) || !is_none(SLOT(kernel, Kernel_.turns)) || PyDict_GetItem(space, computed_name) != computed)
        return NULL;
    PyObject *program = SLOT(kernel, Kernel_.on_host), *check = SLOT(kernel, Kernel_.check);
    return Py_IS_TYPE(program, HostProgram_.type) && (is_none(check) || Py_IS_TYPE(check, HostProgram_.type)) ? program : NULL;
}

/* The program of a call that runs at once: borrowed. NULL: Python runs the call. */
static PyObject *host_program(PyObject *trace, PyObject *kernel)
{
    return SLOT(trace, Trace_.mode) == DEFERRED || is_none(SLOT(trace, Trace_.values)) ? NULL : program_of(kernel);
}

/* Kernel.raise_if_bad without the error: 1 if values of the arguments are wrong, or -1 with an error. Python raises the error. */
static int are_bad(PyObject *check, PyObject *args)
{
    if (is_none(check))
        return 0;
    PyObject *slots = slots_for(check, args);
    int bad = slots == NULL || run_quietly(slots, SLOT(check, HostProgram_.code)) < 0 ? -1
        : PyObject_IsTrue(at(slots, PyList_GET_ITEM(SLOT(check, HostProgram_.outs), 0)));
    Py_XDECREF(slots);
    return bad;
}

/* Adds 1 to the count in a slot. */
static int count(PyObject *object, Py_ssize_t offset)
{
    PyObject *more = one_more(SLOT(object, offset));
    if (more != NULL)
        put(object, offset, more);
    return more != NULL ? 0 : -1;
}

/* buffer_reuse.is_spare: 1 if the call may write into the array of its first argument, or -1 with an error. */
static int is_spare(PyObject *trace, Py_ssize_t kept, PyObject *program, PyObject *args)
{
    if (is_none(SLOT(program, HostProgram_.over)) || SLOT(trace, Trace_.over) != args)
        return 0;
    PyObject *v = PySequence_Fast_GET_ITEM(args, 0), *array = Py_IS_TYPE(v, Value_.type) ? SLOT(v, Value_.array) : NULL;
    if (array == NULL || !Py_IS_TYPE(array, array_type))
        return 0;
    int is_new = PyLong_AsSsize_t(SLOT(v, Value_.slot)) >= kept;
    /* nothing but a storage, these arguments and the trace's list may refer to the value */
    if (Py_REFCNT(v) > 2 + is_new || Py_REFCNT(array) > 1)
        return 0;
    PyObject *own = PyObject_CallOneArg(is_own, array);
    int spare = own != NULL ? own == Py_True : -1;
    Py_XDECREF(own);
    return spare;
}

static int count_overwritten(void)
{
    PyObject *before = PyObject_GetAttrString(counters, "overwritten");
    PyObject *after = before != NULL ? one_more(before) : NULL;
    int bad = after == NULL || PyObject_SetAttrString(counters, "overwritten", after) < 0;
    Py_XDECREF(after);
    Py_XDECREF(before);
    return bad ? -1 : 0;
}

/* Tells whether nothing keeps a call from running: no program runs, and its arguments are right. An error may be set. */
static int is_ready(PyObject *kernel, PyObject *args)
{
    return (is_none(SLOT(latest, Latest_.result)) || done(PyObject_CallNoArgs(for_latest)) == 0)
        && are_bad(SLOT(kernel, Kernel_.check), args) == 0;
}

/* Runs the kernel's program and returns its slots; NULL, perhaps without an error, if Python has to run it. */
static PyObject *slots_of_run(PyObject *kernel, PyObject *program, PyObject *args, int spare)
{
    PyObject *slots = slots_for(program, args);
    if (slots != NULL && (count(kernel, Kernel_.runs) < 0
                          || run_quietly(slots, SLOT(program, spare ? HostProgram_.over : HostProgram_.code)) < 0))
        Py_CLEAR(slots);
    return slots;
}

/* The same for a call that runs at once.
   From slot ``kept`` on, the trace's list holds the values that this call has brought into the trace. */
static PyObject *slots_behind(PyObject *trace, Py_ssize_t kept, PyObject *kernel, PyObject *program, PyObject *args)
{
    if (!is_ready(kernel, args))
        return NULL;
    int spare = is_spare(trace, kept, program, args);
    return spare < 0 || (spare && count_overwritten() < 0) ? NULL : slots_of_run(kernel, program, args, spare);
}

/* run_now for host kernels. Returns 1 if the call has run, 0 if Python has to run it, -1 with an error. */
int run_on_host(PyObject *trace, PyObject *before, PyObject *after, PyObject *args)
{
    PyObject *kernel = SLOT(after, State_.kernel), *program = host_program(trace, kernel);
    if (program == NULL)
        return 0;
    Py_ssize_t kept = PyLong_AsSsize_t(SLOT(before, State_.first)) + PyTuple_GET_SIZE(SLOT(before, State_.outs));
    PyObject *values = Py_NewRef(SLOT(trace, Trace_.values));
    Py_INCREF(program);
    set(trace, Trace_.mode, EAGER);
    PyObject *slots = slots_behind(trace, kept, kernel, program, args);
    int ran = slots != NULL && assign(values, kept, after, slots, SLOT(program, HostProgram_.outs)) == 0;
    Py_DECREF(program);
    Py_XDECREF(slots);
    Py_DECREF(values);
    return ran ? 1 : PyErr_Occurred() ? -1 : 0;
}

/* trace._unnoted: makes the value of one result of a call that no trace records. */
static PyObject *unnoted(PyObject *aval, PyObject *trace, PyObject *slots, PyObject *out)
{
    PyObject *array = result(slots, out), *v = array != NULL ? new_value(aval, trace, 0) : NULL;
    if (v != NULL) {
        set(v, Value_.array, array);
        set(v, Value_.stamp, Py_None);
    }
    Py_XDECREF(array);
    return v;
}

/* Makes the value of a call (or a list of its values) from the slots after its run. */
static PyObject *all_unnoted(PyObject *kernel, PyObject *trace, PyObject *slots, PyObject *outs)
{
    PyObject *avals = SLOT(kernel, Kernel_.outs);
    Py_ssize_t n = PyTuple_GET_SIZE(avals);
    if (SLOT(kernel, Kernel_.is_tuple) != Py_True)
        return unnoted(PyTuple_GET_ITEM(avals, 0), trace, slots, PyList_GET_ITEM(outs, 0));
    PyObject *made = PyList_New(n);
    for (Py_ssize_t i = 0; made != NULL && i < n; i++) {
        PyObject *v = unnoted(PyTuple_GET_ITEM(avals, i), trace, slots, PyList_GET_ITEM(outs, i));
        if (v == NULL)
            Py_CLEAR(made);
        else
            PyList_SET_ITEM(made, i, v);
    }
    return made;
}

static int are_there(PyObject *args)
{
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(args); i++) {
        PyObject *v = PySequence_Fast_GET_ITEM(args, i);
        if (Py_IS_TYPE(v, Value_.type) && is_none(SLOT(v, Value_.array)))
            return 0;
    }
    return 1;
}

/* trace._run_unnoted for host kernels; NULL, perhaps without an error, if Python has to run the call. */
PyObject *run_unnoted(PyObject *trace, PyObject *call, PyObject *args)
{
    PyObject *kernel = kernel_for(call, PySequence_Fast_ITEMS(args), PySequence_Fast_GET_SIZE(args));
    PyObject *program = kernel != NULL && are_there(args) ? host_program(trace, kernel) : NULL;
    if (program == NULL)
        return NULL;
    Py_INCREF(kernel);
    Py_INCREF(program);
    PyObject *slots = slots_behind(trace, PY_SSIZE_T_MAX, kernel, program, args);
    PyObject *made = slots != NULL ? all_unnoted(kernel, trace, slots, SLOT(program, HostProgram_.outs)) : NULL;
    if (made != NULL && count(trace, Trace_.strayed) < 0)
        Py_CLEAR(made);
    Py_XDECREF(slots);
    Py_DECREF(program);
    Py_DECREF(kernel);
    return made;
}

/* Returns the arguments of a held-back call as a tuple. */
static PyObject *held_arguments(PyObject *places, PyObject *values, PyObject *numbers)
{
    PyObject *args = PyTuple_New(PyTuple_GET_SIZE(places));
    for (Py_ssize_t i = 0; args != NULL && i < PyTuple_GET_SIZE(places); i++) {
        Py_ssize_t place = PyLong_AsSsize_t(PyTuple_GET_ITEM(places, i));
        PyObject *x = PyList_GetItem(place >= 0 ? values : numbers, place >= 0 ? place : -place - 1);
        if (x == NULL)
            Py_CLEAR(args);
        else
            PyTuple_SET_ITEM(args, i, Py_NewRef(x));
    }
    return args;
}

/* interpreter._is_there: 1 if the results of a held-back call are computed, or -1 with an error. */
static int is_there(PyObject *state, PyObject *values)
{
    Py_ssize_t first = PyLong_AsSsize_t(SLOT(state, State_.first)), n = PyTuple_GET_SIZE(SLOT(state, State_.outs));
    for (Py_ssize_t i = first; i < first + n; i++) {
        PyObject *v = PyList_GetItem(values, i);
        if (v == NULL)
            return -1;
        if (!Py_IS_TYPE(v, Value_.type) || is_none(SLOT(v, Value_.array)))
            return 0;
    }
    return 1;
}

/* Runs a held-back call unless its results are there: 1. Returns 0 if Python has to run it, -1 with an error. */
static int run_one_held(PyObject *state, PyObject *values, PyObject *numbers)
{
    int there = is_there(state, values);
    if (there != 0)
        return there;
    PyObject *kernel = SLOT(state, State_.kernel), *program = program_of(kernel);
    PyObject *args = program != NULL ? held_arguments(SLOT(state, State_.args), values, numbers) : NULL;
    PyObject *slots = args != NULL && are_there(args) && is_ready(kernel, args) ? slots_of_run(kernel, program, args, 0) : NULL;
    Py_ssize_t behind = PyLong_AsSsize_t(SLOT(state, State_.first)) + PyTuple_GET_SIZE(SLOT(state, State_.outs));
    int ran = slots != NULL && assign(values, behind, state, slots, SLOT(program, HostProgram_.outs)) == 0;
    Py_XDECREF(slots);
    Py_XDECREF(args);
    return ran ? 1 : PyErr_Occurred() ? -1 : 0;
}

/* Drops the arrays of the slots that nothing needs after a call. */
static int let_go(PyObject *spare, PyObject *state, PyObject *values)
{
    PyObject *slots = PyDict_GetItemWithError(spare, state);
    for (Py_ssize_t i = 0; slots != NULL && i < PyList_GET_SIZE(slots); i++) {
        PyObject *v = PyList_GetItem(values, PyLong_AsSsize_t(PyList_GET_ITEM(slots, i)));
        if (v == NULL)
            return -1;
        if (Py_IS_TYPE(v, Value_.type))
            set(v, Value_.array, Py_None);
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* run_held(path, values, numbers, spare, at). See jtorch.engine.interpreter. */
PyObject *speedups_run_held(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 5)
        return PyErr_Format(PyExc_TypeError, "run_held takes 5 arguments, not %zd", nargs);
    PyObject *path = args[0], *values = args[1], *numbers = args[2], *spare = args[3];
    Py_ssize_t at = PyLong_AsSsize_t(args[4]);
    int ran = 1;
    for (; ran == 1 && at < PyList_GET_SIZE(path); at += ran == 1) {
        PyObject *state = PyList_GET_ITEM(path, at);
        ran = PyErr_CheckSignals() == 0 ? run_one_held(state, values, numbers) : -1;
        if (ran == 1 && let_go(spare, state, values) < 0)
            ran = -1;
    }
    if (ran < 0 && !PyErr_ExceptionMatches(PyExc_Exception))
        return NULL;
    PyErr_Clear();      /* Python runs the call again and raises its error */
    return PyLong_FromSsize_t(at);
}

int connect_host(PyObject *given)
{
    static const char *const of_kernel[] = {"check", "ends", "is_tuple", "on_host", "outs", "runs", "turns", NULL};
    static const char *const of_program[] = {"_code", "_outs", "_slots", "over", NULL};
    static const char *const of_latest[] = {"result", NULL};
    PyObject *numpy = NULL, *waiting = NULL, *stats = NULL;
    int bad = !(space = Py_NewRef(given)) || !(computed_name = PyUnicode_InternFromString("_computed"))
        || !(computed = take(given, "_computed")) || !(is_own = take(given, "is_own")) || !(number = take(given, "number")) || !(contexts = take(given, "quiet_contexts"))
        || !(Kernel_.type = (PyTypeObject *)take(given, "Kernel")) || !(HostProgram_.type = (PyTypeObject *)take(given, "HostProgram"))
        || !(numpy = take(given, "np")) || !(asarray = PyObject_GetAttrString(numpy, "asarray"))
        || !(array_type = (PyTypeObject *)PyObject_GetAttrString(numpy, "ndarray"))
        || !(stats = take(given, "stats")) || !(counters = PyObject_GetAttrString(stats, "counters"))
        || !(waiting = take(given, "wait")) || !(latest = PyObject_GetAttrString(waiting, "_latest"))
        || !(for_latest = PyObject_GetAttrString(waiting, "for_latest")) || !(new_quiet = take(given, "new_quiet_context"))
        || lookup_slots((PyObject *)Kernel_.type, &Kernel_.check, of_kernel) < 0
        || lookup_slots((PyObject *)HostProgram_.type, &HostProgram_.code, of_program) < 0
        || lookup_slots((PyObject *)Py_TYPE(latest), &Latest_.result, of_latest) < 0;
    Py_XDECREF(numpy);
    Py_XDECREF(stats);
    Py_XDECREF(waiting);
    return bad ? -1 : 0;
}
