"""Trace documents for the tests of the page, recorded by a tiny server with caches: versions and hashes agree."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

from kontend.report.document import (
    Actor,
    CallRecord,
    Cycle,
    Delivered,
    Difference,
    Document,
    Explanation,
    Exploration,
    FieldChange,
    FinalState,
    Fix,
    Line,
    Read,
    Source,
    Step,
    Write,
    hash_of,
)

KIND = "ConfigMap/v1"
LINE = Line("examples/ports.py", 31, "await api.patch(config, merge_from(base))  # no lock", "reconcile")
SOURCES = {
    "examples/ports.py": {
        "29": "        base = copy(config)",
        "30": '        config["data"]["next"] = str(int(config["data"]["next"]) + 1)',
        "31": "        await api.patch(config, merge_from(base))  # no lock",
    }
}


class Recorder:
    """Records steps: a server that counts versions, and a cache for each instance."""

    def __init__(self, instances: tuple[str, ...], objects: dict[str, dict[str, Any]]) -> None:
        self.version = 0
        self.server: dict[str, dict[str, Any]] = {}
        self.caches: dict[str, dict[str, dict[str, Any]]] = {instance: {} for instance in instances}
        self.objects: dict[str, Any] = {}
        self.steps: list[Step] = []
        self.bases: dict[tuple[str, str], tuple[int, int]] = {}
        for name, content in objects.items():
            self._store(name, content)
        for cache in self.caches.values():
            cache.update(self.server)
        self.initial = {name: hash_of(obj) for name, obj in self.server.items()}

    def _store(self, name: str, content: dict[str, Any]) -> dict[str, Any]:
        self.version += 1
        namespace, _, short = name.partition(" ")[2].partition("/")
        metadata = {"name": short, "namespace": namespace, "resourceVersion": str(self.version)}
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **deepcopy(content)}
        self.server[name] = obj
        self.objects[hash_of(obj)] = obj
        return obj

    def _add(self, actor: str, action: str, text: str, **more: Any) -> Step:
        step = Step(len(self.steps) + 1, actor, action, text, **more)
        self.steps.append(step)
        return step

    def start(self, actor: str, name: str, *, quiet: bool = False, cost: int = 0) -> None:
        """A reconcile starts."""
        request = name.partition(" ")[2]
        self._add(actor, "start", f"{actor} starts {request}", request=request, changes_nothing=quiet, cost=cost)

    def read(self, actor: str, name: str, *, cached: bool = True, quiet: bool = False) -> None:
        """A reconcile reads an object."""
        held = (self.caches[actor] if cached else self.server)[name]
        version, latest = (int(obj["metadata"]["resourceVersion"]) for obj in (held, self.server[name]))
        namespace, _, short = name.partition(" ")[2].partition("/")
        step = self._add(
            actor,
            "call",
            f"{actor}: {'cached ' * cached}get {name}{' (stale)' * (version != latest)}",
            call=CallRecord("get", KIND, namespace, short, cached=cached),
            response="200",
            reads=(Read(name, version, latest, hash_of(held)),),
            line=Line("examples/ports.py", 28, "config = await api.get(self.kind, request)", "reconcile"),
            request=f"{namespace}/{short}",
            changes_nothing=quiet,
            cost=int(version != latest),
        )
        self.bases[actor, name] = (version, step.number)

    def happen(self, actor: str, action: str, text: str, *, back_to: str = "", call: CallRecord | None = None) -> None:
        """A fault or a timer; ``back_to`` gives the cache the first version of an object again."""
        delivered: tuple[Delivered, ...] = ()
        if back_to:
            old = self.objects[self.initial[back_to]]
            delivered = (Delivered(actor, back_to, int(old["metadata"]["resourceVersion"]), self.initial[back_to]),)
        responses = {"fail": "500 InternalError", "conflict": "409 Conflict"}
        self._add(actor, action, text, call=call, response=responses.get(action), delivered=delivered, cost=1)

    def write(self, actor: str, name: str, key: str, value: Any, *, verb: str = "patch", action: str = "call") -> None:
        """An actor changes one field of an object's data."""
        before = self.server[name]
        content = {"data": {**before["data"], key: value}}
        after = self._store(name, content)
        namespace, _, short = name.partition(" ")[2].partition("/")
        base, base_step = self.bases.get((actor, name), (None, None))
        change = FieldChange(f"data.{key}", before["data"].get(key), value)
        self._add(
            actor,
            action if actor in self.caches else "act",
            f"{actor}: {verb} {name}",
            call=CallRecord(verb, KIND, namespace, short),
            response="200",
            writes=(Write(name, self.version, hash_of(before), hash_of(after), (change,), base, base_step),),
            line=LINE if actor in self.caches else None,
            request=f"{namespace}/{short}",
        )

    def deliver(self, actor: str, name: str) -> None:
        """The newest version of an object reaches a cache."""
        obj = self.server[name]
        self.caches[actor][name] = obj
        version = int(obj["metadata"]["resourceVersion"])
        text = f"{actor} sees {name} at resourceVersion {version}"
        self._add(actor, "deliver", text, delivered=(Delivered(actor, name, version, hash_of(obj)),))

    def document(self, violation: Explanation, **more: Any) -> Document:
        """The recorded steps with an explanation."""
        actors = [Actor(name, "instance") for name in self.caches]
        return Document(
            Source("examples/ports.py", more.pop("scenario", "blind")),
            violation,
            tuple(self.steps),
            actors=(*actors, Actor("server", "server"), Actor("user", "user")),
            objects=self.objects,
            initial=self.initial,
            sources=SOURCES,
            **more,
        )


def _ports() -> Recorder:
    return Recorder(("ports#1", "ports#2"), {"ConfigMap/v1 default/c": {"data": {"next": "8000", "owner": "nobody"}}})


def _bump(recorder: Recorder, actor: str, value: str) -> None:
    recorder.write(actor, "ConfigMap/v1 default/c", "next", value)


def lost_update(**more: Any) -> Document:
    """Two instances take the same port, with the good run in which the second one is up to date."""
    name = "ConfigMap/v1 default/c"
    good = _ports()
    bad = _ports()
    for recorder in (good, bad):
        recorder.write("user", name, "owner", "team-a", verb="update")
        for instance in ("ports#1", "ports#2"):
            recorder.deliver(instance, name)
        recorder.start("ports#1", name)
        recorder.read("ports#1", name)
        _bump(recorder, "ports#1", "8001")
    good.deliver("ports#2", name)
    for recorder, value in ((good, "8002"), (bad, "8001")):
        recorder.start("ports#2", name)
        recorder.read("ports#2", name)
        _bump(recorder, "ports#2", value)
    bad.deliver("ports#1", name)
    bad.deliver("ports#2", name)
    for instance in ("ports#1", "ports#2", "ports#1"):
        bad.start(instance, name, quiet=True)
        bad.read(instance, name, quiet=True)
    bad.objects.update(good.objects)
    return bad.document(
        Explanation(
            "lost update",
            "ports#2 wrote data.next = 8001 from resourceVersion 2; ports#1 had changed it at resourceVersion 3",
            (6, 9),
            Fix("Use merge_from(base, lock=True), so that a stale write gets 409 Conflict.", LINE),
            ("stale read in step 8",),
            (Difference(name, "data.next", "8001", "8002"),),
        ),
        baseline=tuple(good.steps),
        bounds={"lag": 1, "concurrent": 2},
        guards=("preconditions",),
        exploration=Exploration(
            184,
            611,
            True,
            coverage="lag ≤ 1, 2 instances, no crashes, no API failures",
            final_states=(
                FinalState(12, True),
                FinalState(4, False, (Difference(name, "data.next", "8001", "8002"),)),
                FinalState(
                    1,
                    False,
                    (Difference(name, "data.next", "8001", "8002"), Difference(name, "data.owner", "nobody", "team-a")),
                ),
            ),
            depths=(1, 3, 9, 21, 40, 52, 33, 17, 8),
        ),
        **more,
    )


def condition() -> Document:
    """A lost update in which the last step changes a condition in three fields, and another element in one."""
    document = lost_update()
    name, path = "ConfigMap/v1 default/l", "status.conditions[type=Ready]"
    down = {"type": "Ready", "status": "False", "reason": "Down", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    up = {"type": "Ready", "status": "True", "reason": "Up", "lastTransitionTime": "2026-01-01T00:00:05Z"}
    versions = [
        {
            "kind": "ConfigMap",
            "metadata": {"name": "l"},
            "status": {"conditions": [each], "ports": [{"name": "a", **port}]},
        }
        for each, port in ((down, {"port": 1}), (up, {"port": 2}))
    ]
    before, after = (hash_of(version) for version in versions)
    fields = [FieldChange(f"{path}.{field}", down[field], up[field]) for field in sorted(up) if field != "type"]
    write = Write(name, 9, before, after, (*fields, FieldChange("status.ports[name=a].port", 1, 2)))
    differences = tuple(Difference(name, change.path, change.before, change.after) for change in fields)
    return replace(
        document,
        violation=replace(document.violation, difference=differences),
        steps=(*document.steps[:-1], replace(document.steps[-1], writes=(write,))),
        baseline=(replace(document.steps[-1], writes=(write,)),),
        objects={**document.objects, before: versions[0], after: versions[1]},
        initial={**document.initial, name: before},
    )


def never_settles() -> Document:
    """Two instances undo each other's writes forever."""
    recorder = _ports()
    name = "ConfigMap/v1 default/c"
    for value in ("a", "b", "a"):
        actor = "ports#1" if value == "a" else "ports#2"
        recorder.start(actor, name)
        recorder.read(actor, name)
        recorder.write(actor, name, "owner", value)
        recorder.deliver("ports#1", name)
        recorder.deliver("ports#2", name)
    return recorder.document(
        Explanation(
            "never settles",
            "ports#1 and ports#2 keep writing data.owner",
            cycle=Cycle(6, 15, (FieldChange("data.owner", "a", "b"), FieldChange("data.owner", "b", "a"))),
        ),
        scenario="fight",
    )


def faults() -> Document:
    """A run with a crash that goes back to an older list, a lost response, failures and timers, in virtual time."""
    recorder = _ports()
    name = "ConfigMap/v1 default/c"
    recorder.start("ports#1", name)
    recorder.read("ports#1", name)
    recorder.write("ports#1", name, "next", "8001", action="lose")
    recorder.deliver("ports#1", name)
    recorder.happen("ports#1", "crash", "ports#1 crashes and restarts with lists that are 1 change old", back_to=name)
    for action, text in (("fail", "fails with 500"), ("conflict", "gets 409 Conflict"), ("timeout", "times out")):
        recorder.start("ports#2", name)
        recorder.happen(
            "ports#2", action, f"ports#2: patch {name} {text}", call=CallRecord("patch", KIND, "default", "c")
        )
    recorder.happen("ports#2", "timer", "the timer of ports#2 for default/c fires")
    recorder.happen("ports#2", "retry", "ports#2 retries default/c")
    recorder.steps[:] = [replace(step, time=step.number * 0.75) for step in recorder.steps]
    return recorder.document(Explanation("fails forever", "ports#2 keeps failing", (3, 5)))


def large(steps: int, objects: int) -> Document:
    """A trace of many steps over many objects, each of a realistic size."""
    padding = {f"setting-{number}": f"value of setting {number}, long enough to matter" for number in range(12)}
    names = [f"ConfigMap/v1 team-{number % 10}/config-{number}" for number in range(objects)]
    recorder = Recorder(
        tuple(f"ports#{number}" for number in range(1, 5)),
        {name: {"data": {"next": str(at), **padding}} for at, name in enumerate(names)},
    )
    turn = 0
    while len(recorder.steps) < steps:
        actor, name = f"ports#{turn % 4 + 1}", names[turn * 7 % objects]
        recorder.start(actor, name)
        recorder.read(actor, name)
        recorder.write(actor, name, "next", f"{turn}")
        recorder.deliver(f"ports#{(turn + 1) % 4 + 1}", name)
        turn += 1
    del recorder.steps[steps:]
    return recorder.document(Explanation("lost update", "a long way to a lost update", (3, steps - 1)))


def hostile() -> Document:
    """A document whose every text tries to become markup or script."""
    attack = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1><!--{{script}}{{data}}"
    name = f"ConfigMap/v1 default/{attack}"
    recorder = Recorder((attack,), {name: {"data": {"next": attack, attack: "x"}}})
    recorder.start(attack, name)
    recorder.read(attack, name)
    recorder.write(attack, name, "next", attack + "2")
    fix = Fix(attack, Line(attack, 1, attack, attack))
    return recorder.document(Explanation(attack, attack, (3,), fix, (attack,), traceback=attack), scenario=attack)
