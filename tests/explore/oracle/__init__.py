"""An oracle for the explorer: a brute force of its own that visits every state of a small scenario.

It shares with :mod:`kontend.explore` the types in which users write scenarios, and nothing else: requests go through
``kontend.cluster.handle``, reconciles through the runtime's ``Api``, events through the runtime's ``requests_for``.
The engine is compared with it in tests and by ``make fuzz``. This page is the specification that both must meet.

**State.** A state of the system consists of the cluster; for each instance of each controller the version up to
which its cache of each kind has seen events, its queue, its retries and timers, its memory, the record of its own
writes and the reconciles under way; the number of actions that each user has taken; the faults that may still
happen; writes that are late; and a clock for each controller and request. A queue is a set, and so are retries and
timers.

**Start.** The definitions and objects of the scenario are in the cluster. Every instance has listed every kind that
its controller declares, and has queued the requests that these objects ask for. An instance runs as many reconciles
at a time as ``max_concurrent`` says, each of another request.

**Steps.** In every state each of these may happen next, one at a time:

1. An instance that may run another reconcile *starts* one of the requests in its queue that is not under way. The
   code runs up to its first call.
2. A reconcile under way makes one of the calls that it waits for (there are several only when it uses
   ``asyncio.gather`` or the like), gets the answer, and runs up to its next calls or to its end. A call of the
   server is one atomic request. A cached read is answered from what the instance's cache of that kind has seen. A
   reconcile that ends with an error or with ``requeue`` is to be *retried*; one that ends with ``requeue_after`` sets
   a *timer* of so many seconds for its request. Of two timers for one request the shorter one stays.
3. The cache of an instance for one kind *sees the next event* of that kind. The requests that the event asks for
   are put into the queue. A mapping function is shown the caches of the instance as they are then.
4. A retry comes, or a timer fires: the request goes into the queue. An event or a later success does not cancel
   either.
5. A *user* takes the next action, once. If the server refuses it in this state, the action is over all the same; with
   ``retry`` it is not possible in this state. One with a condition is possible only while that holds. Besides the user
   of the scenario's actions there is one for each writer, and for each action of a writer without an order.
6. If its lag allows two events or more, a cache that has not seen the last ones of a kind *lists it again*: it then
   has the present, and events that compare, for each object, what it had with what is there.
7. A *fault* happens, as long as the bounds allow another one, in all and of its kind:

   - An instance *crashes*, whatever it does, and starts again: with its first memory, without the reconcile under way,
     retries, timers, and record of own writes, with lists of the kinds that it declares and with the requests that
     these ask for. The lists are those of now; or those before any of the last ``rewind`` changes of these kinds; or,
     unless ``rewind`` is 0, the youngest that show an object in whose place there is another one of its name now, and
     the youngest that show such an object for each of the controller's own kind; but none from before the start.
     Until the next write the caches may be further behind than ``lag``.
   - A call of the server *fails*: with an internal error, with "too many requests" (after a second it may be tried
     again), with "service unavailable", with a lost answer, or (an update, patch or apply) with a conflict. The server
     has not carried it out.
   - The server carries out a call that changes something, and its answer is *lost*.
   - An instance that waits for the answer to a write is *replaced* by another process, which starts as after a crash,
     with lists of now. The write is late: it arrives at the server at some later moment, and nobody gets the answer.

   Where reconciles are whole, only crashes happen.

**Clocks.** A reconcile sees one time from its start to its end: that of the clock of its controller and request. A
timer that fires moves the clock forward by its seconds, rounded up, unless the clock has moved by twice as much before;
one that fires early (see *Divergence*), unless it has moved by as much. Otherwise time stands still. Where a fair run
without perturbations comes to rest, but would not if a clock also moved by a second with each write and each change of
memory by a reconcile that has asked for the time, the scenario *never settles*, and nothing else is asked. The users of
that run act when nothing but retries and timers is left to do.

**Caches.** A kind that the controller does not declare, or declares at another version, has a cache from the first
cached read of it on, which starts with the present. Its events ask for no reconcile. A read of a subresource goes to
the server. ``lag`` is the number of events of a kind that a cache may be behind: a write after which it would be
further behind makes the cache see its oldest events at once, in the order of their versions. With ``lag=0`` every
cache has seen every event.

**Guards** are those of the runtime's ``Api``. With ``read_your_writes`` a cached read of what the instance wrote is
not possible before its cache has seen the write, and what the instance deleted is not shown to it. ``delete_all_of``
is not followed.

**Whole reconciles** (``atomic``). A start and all calls of the reconcile up to its end are one step. A read that
must wait makes the cache see the events of that kind, up to the write that it waits for, and no others. A read that
misses nothing but writes of the reconcile itself perturbs nothing.

**Concurrency within a reconcile.** A call takes no time, so ``sleep`` and timeouts end only when the reconcile waits
for no call. Concurrent calls are carried out in every order; with ``atomic`` in the order in which they were made.

**Properties of a cluster** (``always``, ``never``, ``sometimes``) are asked of the cluster at the start and after
every write, also where other steps follow at once. **Properties of a write** are asked of the clusters before and
after every request that changes something, by a reconcile or by the user.

**Rest.** States that lead only to each other, and which no step but a fault leaves, are where a fair run stays. If no
step among them writes and no reconcile fails, everything has settled: this is a *final state*. If none fails and
every cycle with a write has a timer that fires, everything has settled wherever nothing but timers is left: each of
these states is a final one. Otherwise, if one writes, the scenario *never settles*, and if none does, it *fails
forever*. ``eventually`` demands that the property holds in each final state, and in at least one state of a set that
does not settle.

Nobody need act: where the states that a fair run without any further action of the user reaches lead only to each other
and a cycle without a timer writes, the scenario never settles either.

**Leaks.** A final state with an object that is being deleted and has a finalizer which is neither the garbage
collector's nor that of an object at the start violates *leak*.

**Divergence.** A step *perturbs* if it is a fault, a relist, a cached read of an object, or a list of a namespace, of
which the cache has not seen the last event, a start while another reconcile is under way, an action of the user while a
reconcile is under way, an action of a user *in a hurry*, or a timer that fires while an instance has something to do (a
reconcile under way, a request in its queue, an event of a declared kind that it has not seen, or a retry or a shorter
timer, unless the reconcile that follows writes nothing, does not fail and leads back to the same state). A final state
to which no run leads in which nothing perturbs violates *diverged*, unless no such run settles at all. A user is in a
hurry who creates or changes an object on which a user has acted before, without a condition, and the server accepts it,
while a request is in a queue or would be after all events of declared kinds. A final state of a run in which nothing
else perturbs counts as unperturbed, if it differs from one of a run without hurry in no object of both, but for
metadata, status and identifiers; objects with identifiers in their names do not count. Two final states are the same if
they differ only in resourceVersions, managed fields, generations (observed ones count as how far they are behind), in
times, and in the names of uids, uuids, generated names and versions wherever they appear.

**Properties of one write** by a reconcile (*lost update*, *vanished element*, *wrong object*, *wrong owner*, *observed
generation*) are defined in :mod:`explore.oracle.writes`.

**Identity of states.** Versions, uids and names are real: they are never used twice, and comparing them means what
it means in a cluster. Two states are one if they differ only in these, as :mod:`explore.oracle.identifiers`
explains. Generations are numbers and are not renamed, so a fight over a spec has states without end; for these
:mod:`explore.oracle.fair_run` decides whether an unperturbed run ever stops writing.
"""
