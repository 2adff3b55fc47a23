/* Declarations that all files of the extension share: the classes of the hot path as C sees them, and small helpers.

   All classes are defined in Python, and C knows the offsets of their slots. Each C function handles the cases of training
   loops, and calls the Python function of the same purpose in all other cases. */

#ifndef JTORCH_SPEEDUPS_H
#define JTORCH_SPEEDUPS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

/* The value of an object's slot: borrowed. NULL if the slot was never set. */
#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

/* The classes, with the offsets of the slots that C uses. */
#define CLASS(name, ...) \
    struct name##_class { PyTypeObject *type; Py_ssize_t __VA_ARGS__; }; \
    extern struct name##_class name##_

CLASS(Value, aval, array, born, slot, stamp);
CLASS(Aval, device, dtype, is_inexact, shape, traced);
CLASS(State, args, call, depth, device, early, first, hot, kernel, leading, line, next, nnumbers, outs, parent, profile, single, walks);
CLASS(Trace, after_backward, mode, noting, numbers, over, state, strayed, values);
CLASS(Recorder, longest, trace, trie);
CLASS(Trie, states);
CLASS(Kernel, check, ends, is_tuple, on_host, outs, runs, turns);
CLASS(HostProgram, code, outs, slots, over);
CLASS(Latest, result);
CLASS(Call, kernels, node_class, nodes, tape_flags, vjps);
CLASS(Storage, aval, generation, has_separate_version, saved, value, version);
CLASS(View, aval, generation, in_order, offset, order, stride, value);
CLASS(VersionCounter, version);
CLASS(SavedTensorRef, counter, storage, tensor, view);
CLASS(Tensor, accumulator, base, counter, grad, inference, leaf_hooks, node, node_version, output_nr, post_accumulate_hooks,
      requires_grad, storage, view);
CLASS(OpNode, call, raw_edges, result, saved, seq, versions, watched);

/* The numbers of jtorch/speedups/constants.py, which documents them. All but LEAF are facts of a call (Call.tape_flags). */
#define FOR_EACH_NUMBER(DO) \
    DO(LEAF) DO(DIFFERENTIABLE) DO(SAVES) DO(SAVES_BOTH) DO(KEEPS_RESULT) DO(IDEMPOTENT) DO(LAID_OUT) DO(HAS_CHECKS) \
    DO(CLASS_BY_SHAPES) DO(INPLACE_IN_PYTHON) DO(PLAIN_VIEW) DO(RENAMED) DO(FITS)
#define DECLARE(name) extern long name;
FOR_EACH_NUMBER(DECLARE)

extern PyObject *EAGER, *DEFERRED;      /* modes of a trace, from jtorch/speedups/constants.py */

static inline int is_a(PyObject *o, PyTypeObject *type) { return Py_IS_TYPE(o, type) || PyType_IsSubtype(Py_TYPE(o), type); }

static inline int is_none(PyObject *o) { return o == Py_None; }

/* Puts ``value`` (stolen) into a slot. */
static inline void put(PyObject *object, Py_ssize_t offset, PyObject *value)
{
    PyObject *old = SLOT(object, offset);
    SLOT(object, offset) = value;
    Py_XDECREF(old);
}

/* Puts a new reference to ``value`` into a slot. */
static inline void set(PyObject *object, Py_ssize_t offset, PyObject *value)
{
    Py_INCREF(value);
    put(object, offset, value);
}

/* Tells whether two ints are equal. Equal small ints are one object, so comparing pointers is usually enough. */
static inline int same_int(PyObject *a, PyObject *b)
{
    return a == b || (a && b && PyLong_CheckExact(a) && PyLong_CheckExact(b) && PyObject_RichCompareBool(a, b, Py_EQ) == 1);
}

/* Drops the result of a Python call: 0, or -1 if the call raised an error. */
static inline int done(PyObject *made)
{
    Py_XDECREF(made);
    return made == NULL ? -1 : 0;
}

static inline int is_number(PyObject *o)
{
    return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) || PyComplex_CheckExact(o);
}

/* module.c */
PyObject *speedups_set_constants(PyObject *module, PyObject *given);
int lookup_slots(PyObject *type, Py_ssize_t *offsets, const char *const *names);
PyObject *take(PyObject *from, const char *name);

/* A cached attribute of a Python thread-local, with the thread that looked it up last. */
struct of_thread { uint64_t thread; PyObject *found; };
PyObject *of_this_thread(struct of_thread *kept, PyObject *local, const char *name);

/* trace.c */
PyObject *current_trace(void);      /* borrowed */
PyObject *new_value(PyObject *aval, PyObject *stamp, Py_ssize_t slot);
PyObject *record_call(PyObject *call, PyObject *args);
PyObject *record_over(PyObject *call, PyObject *args);
PyObject *speedups_record(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *speedups_record_over(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *speedups_liveness_of(PyObject *module, PyObject *values);
PyObject *speedups_connect_trace(PyObject *module, PyObject *given);

/* states.c */
PyObject *kernel_for(PyObject *call, PyObject *const *args, Py_ssize_t nargs);      /* borrowed */
PyObject *one_more(PyObject *number);
PyObject *state_behind(PyObject *recorder, PyObject *trace, PyObject *call, PyObject *const *args, Py_ssize_t nargs,
                       PyObject *key, Py_ssize_t first);
int connect_states(PyObject *given);

/* host.c */
int run_on_host(PyObject *trace, PyObject *before, PyObject *after, PyObject *args);
PyObject *run_unnoted(PyObject *trace, PyObject *call, PyObject *args);
PyObject *speedups_run_held(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
int connect_host(PyObject *given);

/* tensors.c */
PyObject *value_of(PyObject *tensor);
PyObject *wrap_value(PyObject *value, PyObject *node, Py_ssize_t output_nr, PyObject *storage);
PyObject *view_of(PyObject *base, PyObject *const *geometry, PyObject *value);
void start_history(PyObject *tensor, PyObject *node);
PyObject *aval_of(PyObject *tensor);        /* borrowed */
int requires_grad(PyObject *tensor);
int will_be_written(PyObject *tensor);
int write_value(PyObject *tensor, PyObject *value);
void count_saved(PyObject *versions, long by);
PyObject *version_of(PyObject *counter);
PyObject *speedups_value_of(PyObject *module, PyObject *tensor);
PyObject *speedups_wrap(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names);
PyObject *speedups_values_of(PyObject *module, PyObject *tensors);
PyObject *speedups_write_all(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *speedups_connect_storage(PyObject *module, PyObject *given);
PyObject *speedups_connect_tensor(PyObject *module, PyObject *given);

/* nodes.c */
PyObject *tracked(PyObject *call, long facts, PyObject *flat, PyObject *args, PyObject *out, PyObject *modes);
PyObject *speedups_make_node(PyObject *module, PyObject *const *given, Py_ssize_t nargs);
PyObject *speedups_connect_nodes(PyObject *module, PyObject *given);

/* views.c */
PyObject *speedups_view_of(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *speedups_plain_view(PyObject *module, PyObject *const *given, Py_ssize_t nargs);
PyObject *speedups_call_view(PyObject *module, PyObject *const *given, Py_ssize_t nargs);
PyObject *speedups_row_of(PyObject *module, PyObject *const *given, Py_ssize_t nargs);
PyObject *speedups_connect_views(PyObject *module, PyObject *given);

/* calls.c */
PyObject *current_mode(void);       /* borrowed */
long facts_of(PyObject *call);
int is_grad_on(PyObject *modes);
int is_special(PyObject *modes);
int is_inference_on(PyObject *modes);
int goes_by_python(void);
PyObject *speedups_call(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *speedups_call_inplace(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names);
PyObject *speedups_set_detour(PyObject *module, PyObject *given);
PyObject *speedups_restore_grad(PyObject *module, PyObject *const *given, Py_ssize_t nargs);
PyObject *speedups_connect_mode(PyObject *module, PyObject *given);
PyObject *speedups_connect_calls(PyObject *module, PyObject *given);
PyObject *speedups_connect_inplace(PyObject *module, PyObject *given);

/* random.c */
int two_arrays(PyObject *const *given, Py_ssize_t nargs, const char *takes, Py_buffer *a, int a_flags, Py_buffer *b, int b_flags);
PyObject *speedups_draw_words(PyObject *module, PyObject *const *given, Py_ssize_t nargs);
PyObject *speedups_swap_places(PyObject *module, PyObject *const *given, Py_ssize_t nargs);

/* normals.c */
PyObject *speedups_fuse(PyObject *module, PyObject *const *given, Py_ssize_t nargs);
PyObject *speedups_normals(PyObject *module, PyObject *const *given, Py_ssize_t nargs);

/* steps.c */
PyObject *speedups_hand_on(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
int connect_steps(PyObject *given);

/* walks.c */
int are_unchanged(PyObject *versions);
int release(PyObject *node);
PyObject *speedups_follow(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *speedups_connect_walks(PyObject *module, PyObject *given);

#endif
