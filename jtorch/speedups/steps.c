/* jtorch._backward.backward.hand_on: runs a node without hooks, in the kind of backward that training loops call. */

#include "speedups.h"

static PyObject *in_python, *added, *heappush, *run_of_ops, *first;
static PyObject *deliver_name, *heap_name, *learner_name, *leaves_name, *order_name, *pending_name, *push_name, *retain_graph_name, *run_name,
    *seq_name, *waiting_name;

/* Returns the numbers of the vjp's outputs that are needed, which are the outputs with an edge. */
static PyObject *wanted_of(PyObject *edges)
{
    PyObject *wanted = PyList_New(0);
    for (Py_ssize_t i = 0; wanted != NULL && i < PyTuple_GET_SIZE(edges); i++) {
        PyObject *number = is_none(PyTuple_GET_ITEM(edges, i)) ? NULL : PyLong_FromSsize_t(i);
        if (number != NULL && PyList_Append(wanted, number) < 0)
            Py_CLEAR(wanted);
        Py_XDECREF(number);
    }
    PyObject *made = wanted != NULL ? PyList_AsTuple(wanted) : NULL;
    Py_XDECREF(wanted);
    return made;
}

/* Returns the cached vjp for these outputs and this one incoming gradient: NULL, perhaps without an error, if there is none. */
static PyObject *known_vjp(PyObject *node, PyObject *wanted, PyObject *nr)
{
    PyObject *given = PyTuple_Pack(1, nr), *key = given != NULL ? PyTuple_Pack(2, wanted, given) : NULL;
    PyObject *found = key != NULL ? Py_XNewRef(PyDict_GetItemWithError(SLOT(SLOT(node, OpNode_.call), Call_.vjps), key)) : NULL;
    Py_XDECREF(given);
    Py_XDECREF(key);
    return found;
}

/* Tells whether no walk is being recorded, and the node is an op's node without hooks, with one incoming gradient and unchanged
   saved tensors; -1 with an error. */
static int is_plain(PyObject *task, PyObject *node, PyObject *grads)
{
    if (!is_a(node, OpNode_.type) || SLOT(node, OpNode_.watched) != Py_False || !PyList_CheckExact(SLOT(node, OpNode_.saved))
            || !PyDict_CheckExact(grads) || PyDict_GET_SIZE(grads) != 1 || !PyTuple_CheckExact(SLOT(node, OpNode_.raw_edges)))
        return 0;
    PyObject *learner = PyObject_GetAttr(task, learner_name), *run = PyObject_GetAttr((PyObject *)Py_TYPE(node), run_name);
    int plain = learner == NULL || run == NULL ? -1 : is_none(learner) && run == run_of_ops;
    Py_XDECREF(learner);
    Py_XDECREF(run);
    return plain > 0 ? are_unchanged(SLOT(node, OpNode_.versions)) : plain;
}

/* Returns the gradients of the wanted outputs; NULL, perhaps with an error, if Python has to compute them. */
static PyObject *gradients_of(PyObject *node, PyObject *wanted, PyObject *nr, PyObject *grad)
{
    PyObject *call = PyTuple_GET_SIZE(wanted) > 0 && Py_IS_TYPE(grad, Value_.type) ? known_vjp(node, wanted, nr) : NULL;
    PyObject *saved = SLOT(node, OpNode_.saved), *out = NULL;
    PyObject *args = call != NULL ? PyList_GetSlice(saved, 0, PyList_GET_SIZE(saved)) : NULL;
    if (args != NULL && PyList_Append(args, grad) == 0) {
        out = record_call(call, args);
        /* A ValueError means that the gradient does not have the output's shape or dtype. Python's hand_on converts it. */
        if (out == NULL && PyErr_ExceptionMatches(PyExc_ValueError))
            PyErr_Clear();
    }
    Py_XDECREF(args);
    Py_XDECREF(call);
    if (out == NULL)
        return NULL;
    PyObject *outs = PySequence_Fast(out, "a vjp gives a sequence");
    Py_DECREF(out);
    return outs;
}

/* Adds a gradient of output ``nr`` of a node, or of a leaf, to the gradient under ``key`` in the dict ``found``. */
static int add(PyObject *found, PyObject *key, PyObject *target, PyObject *nr, PyObject *grad)
{
    PyObject *there = PyDict_GetItemWithError(found, key);
    if (there == NULL)
        return PyErr_Occurred() ? -1 : PyDict_SetItem(found, key, grad);
    Py_INCREF(there);
    PyObject *sum = PyObject_CallFunctionObjArgs(added, target, nr, there, grad, NULL);
    int bad = sum == NULL || PyDict_SetItem(found, key, sum) < 0;
    Py_XDECREF(sum);
    Py_DECREF(there);
    return bad ? -1 : 0;
}

/* Adds a gradient to the pending gradients of a node. */
static int add_to_pending(PyObject *pending, PyObject *node, PyObject *nr, PyObject *grad)
{
    PyObject *have = Py_XNewRef(PyDict_GetItemWithError(pending, node));
    if (have == NULL && !PyErr_Occurred() && (have = PyDict_New()) != NULL && PyDict_SetItem(pending, node, have) < 0)
        Py_CLEAR(have);
    int bad = have == NULL || add(have, nr, node, nr, grad) < 0;
    Py_XDECREF(have);
    return bad ? -1 : 0;
}

/* Puts a node whose gradients are complete into the queue. */
static int push(PyObject *task, PyObject *node)
{
    PyObject *heap = PyObject_GetAttr(task, heap_name), *order = PyObject_GetAttr(task, order_name);
    PyObject *seq = PyObject_GetAttr(node, seq_name), *last = seq != NULL ? PyNumber_Negative(seq) : NULL;
    PyObject *number = order != NULL ? PyObject_CallNoArgs(order) : NULL;
    PyObject *entry = last != NULL && number != NULL ? PyTuple_Pack(3, last, number, node) : NULL;
    int bad = heap == NULL || entry == NULL
        || done(PyList_CheckExact(heap) ? PyObject_CallFunctionObjArgs(heappush, heap, entry, NULL)
                                        : PyObject_CallMethodObjArgs(heap, push_name, entry, NULL)) < 0;
    Py_XDECREF(heap);
    Py_XDECREF(order);
    Py_XDECREF(seq);
    Py_XDECREF(last);
    Py_XDECREF(number);
    Py_XDECREF(entry);
    return bad ? -1 : 0;
}

/* Reduces by 1 the number of gradients that a node or leaf waits for. Returns 1 if it is 0 now, else 0; -1 with an error. */
static int is_last(PyObject *waiting, PyObject *node)
{
    PyObject *key = PyLong_FromVoidPtr(node);
    PyObject *count = key != NULL ? PyDict_GetItemWithError(waiting, key) : NULL;
    long left = count != NULL ? PyLong_AsLong(count) - 1 : -1;
    PyObject *now = count != NULL ? PyLong_FromLong(left) : NULL;
    int bad = now == NULL || PyDict_SetItem(waiting, key, now) < 0;
    if (bad && key != NULL && !PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, key);
    Py_XDECREF(now);
    Py_XDECREF(key);
    return bad ? -1 : left == 0;
}

/* Adds a gradient to the sum for a leaf: 1, or -1 with an error. 0 without effect for the last gradient: Python then gives the
   sum to the leaf. */
static int add_to_leaf(PyObject *task, PyObject *leaf, PyObject *grad)
{
    PyObject *waiting = PyObject_GetAttr(task, waiting_name), *leaves = PyObject_GetAttr(task, leaves_name);
    PyObject *key = PyLong_FromVoidPtr(leaf);
    int found = waiting == NULL || leaves == NULL || key == NULL ? -1 : 0;
    PyObject *count = found == 0 ? PyDict_GetItemWithError(waiting, key) : NULL;
    if (count != NULL && PyLong_AsLong(count) > 1)
        found = add(leaves, key, leaf, first, grad) < 0 || is_last(waiting, leaf) < 0 ? -1 : 1;
    Py_XDECREF(waiting);
    Py_XDECREF(leaves);
    Py_XDECREF(key);
    return PyErr_Occurred() ? -1 : found;
}

static int add_to_node(PyObject *task, PyObject *node, PyObject *nr, PyObject *grad)
{
    PyObject *pending = PyObject_GetAttr(task, pending_name), *waiting = PyObject_GetAttr(task, waiting_name);
    int bad = pending == NULL || waiting == NULL || add_to_pending(pending, node, nr, grad) < 0;
    int last = bad ? -1 : is_last(waiting, node);
    Py_XDECREF(pending);
    Py_XDECREF(waiting);
    return last > 0 ? push(task, node) : last;
}

/* PlainTask.deliver: adds a gradient to the sum for an edge's target. Python delivers the last gradient of a leaf, and
   gradients that are not plain values. */
static int deliver(PyObject *task, PyObject *edge, PyObject *grad)
{
    PyObject *target = PyTuple_GET_ITEM(edge, 0), *nr = PyTuple_GET_ITEM(edge, 1);
    if (Py_IS_TYPE(grad, Value_.type)) {
        if (PyLong_AsLong(nr) != LEAF)
            return add_to_node(task, target, nr, grad);
        int did = add_to_leaf(task, target, grad);
        if (did != 0)
            return did < 0 ? -1 : 0;
    }
    return done(PyObject_CallMethodObjArgs(task, deliver_name, edge, grad, NULL));
}

static int deliver_all(PyObject *task, PyObject *edges, PyObject *wanted, PyObject *outs)
{
    Py_ssize_t n = PyTuple_GET_SIZE(wanted);
    for (Py_ssize_t k = 0; k < n && k < PySequence_Fast_GET_SIZE(outs); k++) {
        PyObject *edge = PyTuple_GET_ITEM(edges, PyLong_AsSsize_t(PyTuple_GET_ITEM(wanted, k)));
        PyObject *out = Py_NewRef(PySequence_Fast_GET_ITEM(outs, k));
        int bad = deliver(task, edge, out) < 0;
        Py_DECREF(out);
        if (bad)
            return -1;
    }
    return 0;
}

static int release_unless_kept(PyObject *task, PyObject *node)
{
    PyObject *kept = PyObject_GetAttr(task, retain_graph_name);
    int keeps = kept == NULL ? -1 : PyObject_IsTrue(kept);
    Py_XDECREF(kept);
    return keeps == 0 ? release(node) : keeps < 0 ? -1 : 0;
}

/* hand_on(task, node, grads): returns True if C did all of it. For unusual nodes it calls the Python function. */
PyObject *speedups_hand_on(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 3) {
        PyErr_SetString(PyExc_TypeError, "hand_on() takes a task, a node and its gradients");
        return NULL;
    }
    PyObject *task = args[0], *node = args[1], *nr, *grad;
    Py_ssize_t at = 0;
    int plain = is_plain(task, node, args[2]);
    PyObject *edges = plain > 0 ? Py_NewRef(SLOT(node, OpNode_.raw_edges)) : NULL;
    PyObject *wanted = plain > 0 ? wanted_of(edges) : NULL, *outs = NULL;
    if (wanted != NULL && PyDict_Next(args[2], &at, &nr, &grad))
        outs = gradients_of(node, wanted, nr, grad);
    int did = outs != NULL;
    int bad = did ? deliver_all(task, edges, wanted, outs) < 0 || release_unless_kept(task, node) < 0 : PyErr_Occurred() != NULL;
    Py_XDECREF(edges);
    Py_XDECREF(wanted);
    Py_XDECREF(outs);
    if (bad)
        return NULL;
    return did ? Py_NewRef(Py_True) : PyObject_CallFunctionObjArgs(in_python, task, node, args[2], NULL);
}

int connect_steps(PyObject *given)
{
    static const struct { PyObject **name; const char *text; } names[] = {
        {&deliver_name, "deliver"}, {&heap_name, "heap"}, {&learner_name, "learner"}, {&leaves_name, "leaves"}, {&order_name, "order"},
        {&pending_name, "pending"}, {&push_name, "push"}, {&retain_graph_name, "retain_graph"}, {&run_name, "run"}, {&seq_name, "seq"},
        {&waiting_name, "waiting"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((*names[i].name = PyUnicode_InternFromString(names[i].text)) == NULL)
            return -1;
    PyObject *heapq = NULL;
    int bad = !(in_python = take(given, "hand_on")) || !(added = take(given, "_added")) || !(heapq = take(given, "heapq"))
        || !(heappush = PyObject_GetAttrString(heapq, "heappush"))
        || !(first = PyLong_FromLong(0)) || !(run_of_ops = PyObject_GetAttrString((PyObject *)OpNode_.type, "run"));
    Py_XDECREF(heapq);
    return bad ? -1 : 0;
}
