/* Makes a jtorch.engine.trie.State for a call that is new on its path and whose kernel exists.

   This file runs no Python code, since a signal handler could then call an op and find the trace half updated. */

#include "speedups.h"

struct Trie_class Trie_;
struct Call_class Call_;

static PyObject *number_avals, *cpu, *files, *settings, *mode_name, *policy, *many_ways;

/* Returns the kernel of a call with these arguments: borrowed. NULL, perhaps without an error, if there is none yet. */
PyObject *kernel_for(PyObject *call, PyObject *const *args, Py_ssize_t nargs)
{
    PyObject *avals = PyTuple_New(nargs), *found = NULL;
    for (Py_ssize_t i = 0; avals != NULL && i < nargs; i++) {
        PyObject *aval = Py_IS_TYPE(args[i], Value_.type) ? SLOT(args[i], Value_.aval)
            : PyDict_GetItemWithError(number_avals, (PyObject *)Py_TYPE(args[i]));
        if (aval == NULL)
            Py_CLEAR(avals);
        else
            PyTuple_SET_ITEM(avals, i, Py_NewRef(aval));
    }
    if (avals != NULL)
        found = PyDict_GetItemWithError(SLOT(call, Call_.kernels), avals);
    Py_XDECREF(avals);
    return found;
}

/* Returns the arguments' slots in the trace. The trace's number k gets slot -k; ``*nnumbers`` counts the numbers. */
static PyObject *slots_of(PyObject *const *args, Py_ssize_t nargs, Py_ssize_t *nnumbers)
{
    PyObject *slots = PyTuple_New(nargs);
    for (Py_ssize_t i = 0; slots != NULL && i < nargs; i++) {
        PyObject *slot = Py_IS_TYPE(args[i], Value_.type) ? Py_NewRef(SLOT(args[i], Value_.slot))
            : PyLong_FromSsize_t(-++*nnumbers);
        if (slot == NULL)
            Py_CLEAR(slots);
        else
            PyTuple_SET_ITEM(slots, i, slot);
    }
    return slots;
}

/* caller.line(): finds the line of the innermost frame of user code. NULL without an error: Python searches for it. */
static PyObject *users_line(void)
{
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame());
    PyObject *found = NULL;
    while (frame != NULL && found == NULL) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        PyObject *is_the_users = PyDict_GetItemWithError(files, code->co_filename);
        if (is_the_users == Py_True)
            found = PyUnicode_FromFormat("%U:%d", code->co_filename, PyFrame_GetLineNumber(frame));
        Py_DECREF(code);
        if (is_the_users != Py_False)
            break;
        Py_SETREF(frame, PyFrame_GetBack(frame));
    }
    Py_XDECREF(frame);
    return found;
}

/* starts_held(device): borrowed. NULL, perhaps without an error: Python decides. */
static PyObject *is_held(PyObject *device)
{
    PyObject *mode = PyDict_GetItemWithError(settings, mode_name);
    if (mode == NULL || !PyUnicode_Check(mode))
        return NULL;
    if (PyUnicode_CompareWithASCIIString(mode, "hot") == 0)
        return Py_True;
    return device == cpu || PyUnicode_CompareWithASCIIString(mode, "eager") == 0 ? Py_False : NULL;
}

/* Untracks a state: states live until the trie is cleared, which breaks their cycles. Scanning the states in each garbage
   collection would slow down loops whose sizes grow. */
static void hide_from_collector(PyObject *state, PyObject *key)
{
    PyObject_GC_UnTrack(state);
    PyObject_GC_UnTrack(key);
    PyObject_GC_UnTrack(SLOT(state, State_.args));
    PyObject_GC_UnTrack(SLOT(state, State_.walks));
    PyObject_GC_UnTrack(SLOT(SLOT(state, State_.parent), State_.next));
}

PyObject *one_more(PyObject *number)
{
    return PyLong_FromSsize_t(PyLong_AsSsize_t(number) + 1);
}

/* Makes a state, as State.__init__ does, and returns a new reference. NULL with an error, or without one if Python must make
   the state. */
static PyObject *new_state(PyObject *parent, PyObject *call, PyObject *const *args, Py_ssize_t n, PyObject *kernel, PyObject *first)
{
    PyObject *outs = SLOT(kernel, Kernel_.outs);
    PyObject *device = PyTuple_GET_SIZE(outs) ? SLOT(PyTuple_GET_ITEM(outs, 0), Aval_.device) : SLOT(parent, State_.device);
    PyObject *hot = is_held(device), *s = hot != NULL ? State_.type->tp_alloc(State_.type, 0) : NULL;
    if (s == NULL)
        return NULL;
    Py_ssize_t nnumbers = PyLong_AsSsize_t(SLOT(parent, State_.nnumbers));
    SLOT(s, State_.parent) = Py_NewRef(parent);
    SLOT(s, State_.call) = Py_NewRef(call);
    SLOT(s, State_.kernel) = Py_NewRef(kernel);
    SLOT(s, State_.first) = Py_NewRef(first);
    SLOT(s, State_.outs) = Py_NewRef(outs);
    SLOT(s, State_.single) = Py_NewRef(SLOT(kernel, Kernel_.is_tuple) == Py_True ? Py_None : PyTuple_GET_ITEM(outs, 0));
    SLOT(s, State_.device) = Py_NewRef(device);
    SLOT(s, State_.hot) = Py_NewRef(hot);
    SLOT(s, State_.early) = Py_NewRef(Py_None);
    SLOT(s, State_.leading) = Py_NewRef(Py_None);
    SLOT(s, State_.profile) = Py_NewRef(Py_None);
    if (!(SLOT(s, State_.args) = slots_of(args, n, &nnumbers))
            || !(SLOT(s, State_.nnumbers) = PyLong_FromSsize_t(nnumbers)) || !(SLOT(s, State_.next) = PyDict_New())
            || !(SLOT(s, State_.walks) = PyDict_New())
            || !(SLOT(s, State_.depth) = one_more(SLOT(parent, State_.depth))) || !(SLOT(s, State_.line) = users_line()))
        Py_CLEAR(s);
    return s;
}

/* Tells whether Python must decide if the trace continues without states, see trace._strays; -1 with an error. */
static int may_stray(PyObject *trace, PyObject *known, PyObject *key)
{
    if (SLOT(trace, Trace_.mode) == DEFERRED)
        return 0;
    PyObject *ways = PyObject_GetAttr(policy, many_ways);
    int many = ways == NULL ? -1 : PyDict_GET_SIZE(known) >= PyLong_AsSsize_t(ways);
    Py_XDECREF(ways);
    if (many <= 0)
        return many;
    int has = PyDict_Contains(known, key);
    return has < 0 ? -1 : !has;
}

/* Makes a state under ``key`` for a call whose arguments are in the trace: borrowed. NULL, perhaps without an error: Python makes
   the state. Python does so if there is no kernel yet, if the call runs on another device than the trace, or if a state with
   many successors gets a new one. */
PyObject *state_behind(PyObject *recorder, PyObject *trace, PyObject *call, PyObject *const *args, Py_ssize_t nargs,
                       PyObject *key, Py_ssize_t first)
{
    PyObject *kernel = kernel_for(call, args, nargs), *trie = SLOT(recorder, Recorder_.trie), *parent = SLOT(trace, Trace_.state);
    if (kernel == NULL || !Py_IS_TYPE(kernel, Kernel_.type) || may_stray(trace, SLOT(parent, State_.next), key) != 0)
        return NULL;
    PyObject *outs = SLOT(kernel, Kernel_.outs), *device = SLOT(parent, State_.device);
    if (PyTuple_GET_SIZE(outs) && !is_none(device) && SLOT(PyTuple_GET_ITEM(outs, 0), Aval_.device) != device)
        return NULL;
    PyObject *place = PyLong_FromSsize_t(first), *state = place != NULL ? new_state(parent, call, args, nargs, kernel, place) : NULL;
    PyObject *states = state != NULL ? one_more(SLOT(trie, Trie_.states)) : NULL;
    int bad = states == NULL || PyDict_SetItem(SLOT(parent, State_.next), key, state) < 0;
    if (bad) {
        Py_XDECREF(states);
    } else {
        put(trie, Trie_.states, states);
        hide_from_collector(state, key);
    }
    Py_XDECREF(place);
    Py_XDECREF(state);
    return bad ? NULL : state;
}

int connect_states(PyObject *given)
{
    static const char *const of_trie[] = {"states", NULL};
    static const char *const of_call[] = {"kernels", "node_class", "nodes", "tape_flags", "vjps", NULL};
    PyObject *caller = NULL, *starts_held = NULL;
    int bad = !(policy = take(given, "policy")) || !(many_ways = PyUnicode_InternFromString("MANY"))
        || !(number_avals = take(given, "NUMBER_AVALS")) || !(cpu = take(given, "CPU"))
        || !(caller = take(given, "caller")) || !(files = PyObject_GetAttrString(caller, "_is_the_users"))
        || !(starts_held = take(given, "starts_held")) || !(settings = PyObject_GetAttrString(starts_held, "__globals__"))
        || !(mode_name = PyUnicode_InternFromString("ENGINE_MODE"))
        || !(Trie_.type = (PyTypeObject *)take(given, "Trie")) || !(Call_.type = (PyTypeObject *)take(given, "Call"))
        || lookup_slots((PyObject *)Trie_.type, &Trie_.states, of_trie) < 0
        || lookup_slots((PyObject *)Call_.type, &Call_.kernels, of_call) < 0;
    Py_XDECREF(caller);
    Py_XDECREF(starts_held);
    return bad ? -1 : 0;
}
