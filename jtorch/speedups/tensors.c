/* Tensors and storages: jtorch.storage.value_of, jtorch.tensor.wrap, and queries that calls make about their arguments. */

#include "speedups.h"

struct Storage_class Storage_;
struct View_class View_;
struct VersionCounter_class VersionCounter_;
struct SavedTensorRef_class SavedTensorRef_;
struct Tensor_class Tensor_;

static PyObject *value_in_python, *write_in_python, *zero, *never;

/* Returns the value that a tensor or its view holds, if it is up to date: borrowed. Otherwise NULL without an error. */
static PyObject *shown_by(PyObject *tensor)
{
    PyObject *view = SLOT(tensor, Tensor_.view), *storage = SLOT(tensor, Tensor_.storage);
    if (storage == NULL || view == NULL || !Py_IS_TYPE(storage, Storage_.type) || is_none(SLOT(storage, Storage_.value)))
        return NULL;
    if (is_none(view))
        return SLOT(storage, Storage_.value);
    if (is_none(SLOT(view, View_.value)) || !same_int(SLOT(view, View_.generation), SLOT(storage, Storage_.generation)))
        return NULL;
    return SLOT(view, View_.value);
}

/* Returns a tensor's value: a new reference. */
PyObject *value_of(PyObject *tensor)
{
    PyObject *value = shown_by(tensor);
    return value != NULL ? Py_NewRef(value) : PyObject_CallOneArg(value_in_python, tensor);
}

PyObject *speedups_value_of(PyObject *module, PyObject *tensor)
{
    return is_a(tensor, Tensor_.type) ? value_of(tensor) : PyObject_CallOneArg(value_in_python, tensor);
}

static PyObject *new_storage(PyObject *value)
{
    PyObject *s = Storage_.type->tp_alloc(Storage_.type, 0);
    if (s == NULL)
        return NULL;
    SLOT(s, Storage_.value) = Py_NewRef(value);
    SLOT(s, Storage_.aval) = Py_NewRef(SLOT(value, Value_.aval));
    SLOT(s, Storage_.version) = Py_NewRef(zero);
    SLOT(s, Storage_.generation) = Py_NewRef(zero);
    SLOT(s, Storage_.saved) = Py_NewRef(zero);
    SLOT(s, Storage_.has_separate_version) = Py_NewRef(Py_False);
    return s;
}

/* Makes a tensor of a value, in a new storage or in the given storage. ``node`` may be NULL. */
PyObject *wrap_value(PyObject *value, PyObject *node, Py_ssize_t output_nr, PyObject *storage)
{
    PyObject *number = output_nr ? PyLong_FromSsize_t(output_nr) : Py_NewRef(zero);
    PyObject *s = number == NULL ? NULL : storage != NULL ? Py_NewRef(storage) : new_storage(value);
    PyObject *t = s != NULL ? Tensor_.type->tp_alloc(Tensor_.type, 0) : NULL;
    if (t == NULL) {
        Py_XDECREF(number);
        Py_XDECREF(s);
        return NULL;
    }
    SLOT(t, Tensor_.storage) = s;
    SLOT(t, Tensor_.view) = Py_NewRef(Py_None);
    SLOT(t, Tensor_.counter) = Py_NewRef(Py_None);
    SLOT(t, Tensor_.grad) = Py_NewRef(Py_None);
    SLOT(t, Tensor_.base) = Py_NewRef(Py_None);
    SLOT(t, Tensor_.accumulator) = Py_NewRef(Py_None);
    SLOT(t, Tensor_.leaf_hooks) = Py_NewRef(Py_None);
    SLOT(t, Tensor_.post_accumulate_hooks) = Py_NewRef(Py_None);
    SLOT(t, Tensor_.inference) = Py_NewRef(Py_False);
    SLOT(t, Tensor_.node_version) = Py_NewRef(zero);
    SLOT(t, Tensor_.node) = Py_NewRef(node != NULL ? node : Py_None);
    SLOT(t, Tensor_.requires_grad) = Py_NewRef(node != NULL ? Py_True : Py_False);
    SLOT(t, Tensor_.output_nr) = number;
    return t;
}

/* wrap(value, edge=None, shared=None) */
PyObject *speedups_wrap(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    PyObject *edge = nargs > 1 ? args[1] : Py_None, *shared = nargs > 2 ? args[2] : Py_None;
    if (nargs < 1 || nargs > 3 || (names != NULL && PyTuple_GET_SIZE(names))) {
        PyErr_SetString(PyExc_TypeError, "wrap() takes a value, an edge and a storage");
        return NULL;
    }
    if ((!Py_IS_TYPE(args[0], Value_.type) && is_none(shared)) || (!is_none(edge) && !PyTuple_Check(edge))) {
        PyErr_SetString(PyExc_TypeError, "wrap() takes a value, an edge and a storage");
        return NULL;
    }
    PyObject *node = is_none(edge) ? NULL : PyTuple_GET_ITEM(edge, 0);
    Py_ssize_t nr = is_none(edge) ? 0 : PyLong_AsSsize_t(PyTuple_GET_ITEM(edge, 1));
    if (nr == -1 && PyErr_Occurred())
        return NULL;
    return wrap_value(args[0], node, nr, is_none(shared) ? NULL : shared);
}

/* Makes a View: the part of its storage that a tensor shows, if this is not all of the storage. */
static PyObject *new_view(PyObject *storage, PyObject *const *geometry, PyObject *value)
{
    PyObject *view = View_.type->tp_alloc(View_.type, 0);
    if (view == NULL)
        return NULL;
    SLOT(view, View_.aval) = Py_NewRef(geometry[0]);
    SLOT(view, View_.stride) = Py_NewRef(geometry[1]);
    SLOT(view, View_.offset) = Py_NewRef(geometry[2]);
    SLOT(view, View_.in_order) = Py_NewRef(geometry[3]);
    SLOT(view, View_.value) = Py_NewRef(value);
    SLOT(view, View_.generation) = Py_NewRef(is_none(value) ? never : SLOT(storage, Storage_.generation));
    SLOT(view, View_.order) = Py_NewRef(Py_None);
    return view;
}

/* Tells whether a geometry (aval, stride, offset, in_order) covers all of a storage; -1 with an error. */
static int is_whole(PyObject *storage, PyObject *const *geometry)
{
    if (geometry[0] != SLOT(storage, Storage_.aval) || geometry[3] != Py_True)
        return 0;
    int offset = PyObject_IsTrue(geometry[2]);
    return offset < 0 ? -1 : !offset;
}

/* views.view_of: makes a tensor that shows a part of a base's storage. ``geometry`` is (aval, stride, offset, in_order). */
PyObject *view_of(PyObject *base, PyObject *const *geometry, PyObject *value)
{
    PyObject *storage = SLOT(base, Tensor_.storage), *counter = SLOT(base, Tensor_.counter), *first = SLOT(base, Tensor_.base);
    int whole = is_whole(storage, geometry);
    PyObject *made = whole < 0 ? NULL : wrap_value(value, NULL, 0, storage);
    PyObject *view = made == NULL || whole ? NULL : new_view(storage, geometry, value);
    PyObject *version = made == NULL || (!whole && view == NULL) ? NULL : version_of(is_none(counter) ? storage : counter);
    if (version == NULL) {
        Py_XDECREF(view);
        Py_XDECREF(made);
        return NULL;
    }
    if (view != NULL)
        put(made, Tensor_.view, view);
    set(made, Tensor_.counter, counter);
    set(made, Tensor_.inference, SLOT(base, Tensor_.inference));
    set(made, Tensor_.base, is_none(first) ? base : first);
    put(made, Tensor_.node_version, version);
    return made;
}

/* view_history.start_history: makes a tensor the first output of a node. */
void start_history(PyObject *tensor, PyObject *node)
{
    set(tensor, Tensor_.node, node);
    set(tensor, Tensor_.output_nr, zero);
    set(tensor, Tensor_.requires_grad, Py_True);
}

/* storage.aval_of: returns the aval of what a tensor shows: borrowed. */
PyObject *aval_of(PyObject *tensor)
{
    PyObject *view = SLOT(tensor, Tensor_.view);
    return is_none(view) ? SLOT(SLOT(tensor, Tensor_.storage), Storage_.aval) : SLOT(view, View_.aval);
}

/* view_history.requires_grad: tells whether a tensor, or a base of which it is a view, requires a gradient. */
int requires_grad(PyObject *tensor)
{
    for (;;) {
        if (SLOT(tensor, Tensor_.requires_grad) == Py_True)
            return 1;
        PyObject *base = SLOT(tensor, Tensor_.base);
        if (is_none(base))
            return 0;
        if (SLOT(aval_of(tensor), Aval_.is_inexact) != Py_True)
            return 0;
        tensor = base;
    }
}

static int add_to(PyObject *object, Py_ssize_t offset, long by)
{
    PyObject *next = PyLong_FromSsize_t(PyLong_AsSsize_t(SLOT(object, offset)) + by);
    if (next == NULL)
        return -1;
    put(object, offset, next);
    return 0;
}

/* storage.will_be_written: raises the storage's generation, which makes the values kept by views stale. */
int will_be_written(PyObject *tensor)
{
    PyObject *storage = SLOT(tensor, Tensor_.storage);
    return storage != NULL && Py_IS_TYPE(storage, Storage_.type) ? add_to(storage, Storage_.generation, 1) : 0;
}

/* Writes a new value to a tensor that shows all of its storage: 1 if it did, 0 if Python has to write, -1 with an error. */
static int write_whole(PyObject *tensor, PyObject *value)
{
    PyObject *storage = SLOT(tensor, Tensor_.storage), *counter = SLOT(tensor, Tensor_.counter);
    if (storage == NULL || !Py_IS_TYPE(storage, Storage_.type) || !is_none(SLOT(tensor, Tensor_.view))
            || is_none(SLOT(storage, Storage_.value)) || SLOT(SLOT(value, Value_.aval), Aval_.traced) != Py_False)
        return 0;
    Py_ssize_t version = Storage_.version;
    if (is_none(counter))
        counter = storage;
    else if (Py_IS_TYPE(counter, VersionCounter_.type))
        version = VersionCounter_.version;
    else if (!Py_IS_TYPE(counter, Storage_.type))
        return 0;
    if (add_to(storage, Storage_.generation, 1) < 0)
        return -1;
    set(storage, Storage_.value, value);
    return add_to(counter, version, 1) < 0 ? -1 : 1;
}

static int write_or_ask(PyObject *tensor, PyObject *value, int here)
{
    int written = here ? write_whole(tensor, value) : 0;
    return written ? (written < 0 ? -1 : 0) : done(PyObject_CallFunctionObjArgs(write_in_python, tensor, value, NULL));
}

/* storage.write: gives a tensor a new value. Python writes if the storage may have been saved under another counter. */
int write_value(PyObject *tensor, PyObject *value)
{
    PyObject *storage = SLOT(tensor, Tensor_.storage);
    return write_or_ask(tensor, value, storage != NULL && SLOT(storage, Storage_.has_separate_version) == Py_False);
}

PyObject *speedups_values_of(PyObject *module, PyObject *tensors)
{
    PyObject *given = PySequence_Fast(tensors, "values_of() takes a list of tensors");
    Py_ssize_t n = given != NULL ? PySequence_Fast_GET_SIZE(given) : 0;
    PyObject *values = given != NULL ? PyList_New(n) : NULL;
    for (Py_ssize_t i = 0; values != NULL && i < n; i++) {
        PyObject *value = speedups_value_of(module, PySequence_Fast_GET_ITEM(given, i));
        if (value == NULL)
            Py_CLEAR(values);
        else
            PyList_SET_ITEM(values, i, value);
    }
    Py_XDECREF(given);
    return values;
}

/* write_all(tensors, values) */
PyObject *speedups_write_all(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 2 || !PyList_Check(args[0]) || !PyList_Check(args[1]) || PyList_GET_SIZE(args[0]) != PyList_GET_SIZE(args[1])) {
        PyErr_SetString(PyExc_ValueError, "write_all() takes as many values as tensors, in lists");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[0]); i++) {
        PyObject *tensor = PyList_GET_ITEM(args[0], i), *value = PyList_GET_ITEM(args[1], i);
        if (write_or_ask(tensor, value, is_a(tensor, Tensor_.type)) < 0)
            return NULL;
    }
    Py_RETURN_NONE;
}

/* storage.count_saved: adds ``by`` to the count of each storage that a node has saved. */
void count_saved(PyObject *versions, long by)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(versions); i++) {
        PyObject *counter = PyTuple_GET_ITEM(PyTuple_GET_ITEM(versions, i), 0);
        if (Py_IS_TYPE(counter, SavedTensorRef_.type))
            counter = SLOT(counter, SavedTensorRef_.storage);
        if (Py_IS_TYPE(counter, Storage_.type) && add_to(counter, Storage_.saved, by) < 0)
            PyErr_Clear();      /* there was no memory for the new count, so the old count stays */
    }
}

/* Returns the version of a saved tensor's counter: a new reference. */
PyObject *version_of(PyObject *counter)
{
    if (Py_IS_TYPE(counter, SavedTensorRef_.type))
        counter = SLOT(counter, SavedTensorRef_.counter);
    if (Py_IS_TYPE(counter, Storage_.type))
        return Py_NewRef(SLOT(counter, Storage_.version));
    if (Py_IS_TYPE(counter, VersionCounter_.type))
        return Py_NewRef(SLOT(counter, VersionCounter_.version));
    return PyObject_GetAttrString(counter, "version");
}

PyObject *speedups_connect_storage(PyObject *module, PyObject *given)
{
    static const char *const of_storage[] = {"aval", "generation", "has_separate_version", "saved", "value", "version", NULL};
    static const char *const of_view[] = {"aval", "generation", "in_order", "offset", "order", "stride", "value", NULL};
    static const char *const of_counter[] = {"version", NULL};
    static const char *const of_saved[] = {"counter", "storage", "tensor", "view", NULL};
    if (!(Storage_.type = (PyTypeObject *)take(given, "Storage")) || !(View_.type = (PyTypeObject *)take(given, "View"))
            || !(VersionCounter_.type = (PyTypeObject *)take(given, "VersionCounter"))
            || !(SavedTensorRef_.type = (PyTypeObject *)take(given, "SavedTensorRef"))
            || lookup_slots((PyObject *)Storage_.type, &Storage_.aval, of_storage) < 0
            || lookup_slots((PyObject *)View_.type, &View_.aval, of_view) < 0
            || lookup_slots((PyObject *)VersionCounter_.type, &VersionCounter_.version, of_counter) < 0
            || lookup_slots((PyObject *)SavedTensorRef_.type, &SavedTensorRef_.counter, of_saved) < 0
            || !(value_in_python = take(given, "value_of")) || !(write_in_python = take(given, "write"))
            || !(zero = PyLong_FromLong(0)) || !(never = PyLong_FromLong(-1)))
        return NULL;
    Py_RETURN_NONE;
}

PyObject *speedups_connect_tensor(PyObject *module, PyObject *given)
{
    static const char *const of_tensor[] = {"_accumulator", "_base", "_counter", "_grad", "_inference", "_leaf_hooks", "_node",
                                            "_node_version", "_output_nr", "_post_accumulate_hooks", "_requires_grad",
                                            "_storage", "_view", NULL};
    if (!(Tensor_.type = (PyTypeObject *)take(given, "Tensor"))
            || lookup_slots((PyObject *)Tensor_.type, &Tensor_.accumulator, of_tensor) < 0)
        return NULL;
    Py_RETURN_NONE;
}
