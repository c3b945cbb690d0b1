"""Draws the programs of generated controllers: a read, and then a few parts that suit the themes of the scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from explore.oracle.generated.drawing import MAP, OUT, SELF, Drawing
from explore.oracle.generated.objects import BUDGET, CM, LEASE, NAMESPACE, POD, SECRET, W2, G, Json, W


class CodeMaker(Drawing):
    """Draws instructions. A method ``part_x`` draws one thing that a controller does about ``x``."""

    #: The parts that further themes add.
    further: ClassVar[Mapping[str, Sequence[str]]] = {}

    def code(self, kind: str) -> Json:
        """Read, perhaps look whether anything is to do, and act."""
        live = self.chance(0.3)
        code: list[Json] = [["get", "o", SELF, live]]
        if self.chance(0.85):
            code.append(["stop_unless_there", "o"])
        for _ in range(self.pick(1, 2, 2, 3)):
            code += self.part(kind)
        if self.chance(0.1):
            code.append(self.pick(["requeue_after", 5], ["requeue"]) if self.chance(0.6) else ["fail"])
        return code

    def part(self, kind: str) -> Json:
        """One thing that a controller does."""
        common = ["read", "patch", "create", "status", "patch", "create"]
        special = {
            "undeclared": ["undeclared"] * 4,
            "versions": ["version"] * 4,
            "namespaces": ["namespace"] * 3,
            "generated names": ["generate"] * 5,
            "version in text": ["compare version"] * 3,
            "uid in text": ["compare uid"] * 3,
            "memory": ["memory"] * 4,
            "scale": ["scale"] * 4,
            "put": ["put"] * 4,
            "owners": ["owned"] * 4,
            "eviction": ["evict"] * 5,
            "asyncio": ["asyncio"] * 5,
            "recreate": ["delete"] * 3,
            "delete all": ["delete all"] * 4,
            "apply": ["apply"] * 4,
            "finalizers": ["finalizer"] * 4,
            "errors": ["error"] * 3,
            "generations": ["generation"] * 3,
            "conditions": ["condition"] * 4,
            "no status": ["generation"] * 2,
            "index": ["list"] * 3,
            "definitions": ["definition"] * 4,
            "timers": ["timer"] * 5,
            "clock": ["clock"] * 5,
            **self.further,
        }
        pool = [*common, *(part for theme in sorted(self.themes) for part in special.get(theme, ()))]
        made: list[Json] = getattr(self, "part_" + self.pick(*pool).replace(" ", "_"))(kind)
        return made

    def part_read(self, kind: str) -> Json:
        return self.pick(
            [["get", "o", SELF, False]],
            [["get", "o", SELF, True]],
            [["list", "l", kind, self.chance(0.3)]],
            [["list", "l", CM, self.chance(0.3)]],
        )

    def part_list(self, kind: str) -> Json:
        if self.chance(0.5):
            listed = [
                "indexed",
                "l",
                kind,
                "size",
                self.pick(["const", "1"], ["const", "2"], ["field", "o", "spec", "size"]),
            ]
        else:
            listed = ["list", "l", kind, self.chance(0.3), self.pick("", "l=1", "l")]
        return [listed, ["first", "a", "l"], *self.part_create(kind)]

    def part_patch(self, kind: str) -> Json:
        path, value = self.place(kind), self.value(kind)
        form = self.pick(
            ["patch", "o", path, value, False],
            ["patch", "o", path, value, False],
            ["patch", "o", path, value, True],
            ["update", "o", path, value],
            ["blind", SELF, path, value],
        )
        if path[0] == "metadata" and path[1] == "labels" and value[0] not in ("const", "more"):
            form[-1 if form[0] in ("update", "blind") else 3] = ["const", self.pick("1", "2", "x")]
        return self.guarded(self.soft(form))

    def part_status(self, kind: str) -> Json:
        if kind == CM:
            return self.part_patch(kind)
        name, value = self.pick("phase", "n", "p"), self.value(kind)
        return self.pick(
            [self.soft(["status", "o", name, value, self.pick(None, None, True)])],
            [self.soft(["mutate_status", "o", name, value])],
            [self.soft(["update", "o", ["status", name], value])],
            [self.soft(["blind", SELF, ["status", name], value])],
        )

    def part_condition(self, kind: str) -> Json:
        if kind == CM:
            return self.part_patch(kind)
        observed = self.pick(["generation", "o"], ["generation", "o"], ["const", 1], ["const", 2])
        return [self.soft(["condition", "o", self.pick("Ready", "Synced"), observed, self.chance(0.3)])]

    def part_create(self, kind: str) -> Json:
        fields = [[["data", "v"], self.value(kind)]] if self.chance(0.7) else []
        where = self.out()
        if where[0] != CM:
            fields = []
        return self.guarded(self.soft(["create", where, fields]))

    def part_owned(self, kind: str) -> Json:
        if kind == CM:
            return self.part_create(kind)
        make = self.soft(["create", self.out(), [], "o"])
        return self.pick([make], [make], [make, ["delete", "o", self.pick(None, "Foreground", "Orphan")]])

    def part_definition(self, kind: str) -> Json:
        gadget = [G, "default", "g"]
        define, make = ["soft", ["define"]], ["soft", ["create", gadget]]
        read = ["soft", ["get", "a", gadget, self.chance(0.3)]]
        return self.pick([define, make], [define], [make], [define, read, *self.part_create(kind)], [read, make])

    def part_undeclared(self, kind: str) -> Json:
        other = MAP if kind != CM else [W, "default", "w"]
        read = ["get", "a", other, False]
        return self.pick([read], [read, *self.part_create(kind)], [["list", "l", other[0], False]])

    def part_version(self, kind: str) -> Json:
        other = W if kind == W2 else W2
        read = ["get", "a", [other, "default", "w"], self.chance(0.2)]
        return self.pick([read, *self.part_create(kind)], [read], [["list", "l", other, False]])

    def part_namespace(self, kind: str) -> Json:
        del kind
        late = [NAMESPACE, "", "late"]
        return self.pick(
            [self.soft(["create", late])],
            [["soft", ["delete_at", late]]],
            [self.soft(["create", [self.pick(CM, SECRET), "late", "out"]])],
            [["get", "a", late, self.chance(0.5)], ["stop_unless_there", "a"]],
        )

    def part_generate(self, kind: str) -> Json:
        fields = [[["data", "v"], self.value(kind)]] if self.chance(0.4) else []
        make = ["generate", CM, self.pick("c-", "c-", "d-"), fields, self.pick("", "", "o")]
        note = ["patch", "o", ["metadata", "annotations", "n"], ["name", "new"], self.chance(0.3)]
        if kind != CM:
            note = self.pick(note, ["status", "o", "n", ["name", "new"], None])
        tidy = ["soft", ["delete", "new"]]
        listed: list[Json] = [["list", "l", CM, False], ["stop_if", ["count", "l"], ["const", self.pick(1, 2)]]]
        return self.pick(
            [*listed, make],
            [*listed, make, ["soft", note]],
            self.guarded(make, self.soft(note)),
            self.guarded(make, tidy, ["soft", ["patch", "o", ["metadata", "labels", "l"], ["const", "1"], False]]),
            [["stop_unless", ["kept"], ["const", None]], make, ["keep", ["name", "new"]], tidy],
        )

    def part_compare_version(self, kind: str) -> Json:
        note = self.pick(["field", "o", "metadata", "annotations", "n"], ["field", "a", "data", "v"], ["kept"])
        read = ["get", "a", self.pick(MAP, OUT), self.chance(0.5)]
        stop = [self.pick("stop_if", "stop_if", "stop_unless"), note, ["version", self.pick("o", "a")]]
        keep = ["keep", ["version", self.pick("o", "a")]]
        return self.pick([read, stop], [stop, keep], [read, stop, keep], [read, stop, *self.part_create(kind)])

    def part_compare_uid(self, kind: str) -> Json:
        cut = self.pick(0, 8, 4)
        note = self.pick(["field", "o", "metadata", "annotations", "n"], ["field", "a", "data", "v"], ["kept"])
        read = ["get", "a", self.pick(MAP, OUT), self.chance(0.5)]
        stop = [self.pick("stop_if", "stop_unless"), note, ["uid", self.pick("o", "a"), cut]]
        keep = ["keep", ["uid", self.pick("o", "a"), cut]]
        return self.pick([read, stop], [stop, keep], [read, *self.part_create(kind)], [keep, *self.part_create(kind)])

    def part_memory(self, kind: str) -> Json:
        stop = ["stop_if", ["kept"], self.pick(["const", 1], ["field", "o", "spec", "size"], ["version", "o"])]
        value = self.pick(
            ["const", 1],
            ["field", "o", "spec", "size"],
            ["wrapped", "list", ["field", "o", "spec", "size"]],
            ["wrapped", "dict", ["const", None]],
            ["version", "o"],
            ["uid", "o"],
            ["generation", "o"],
            ["const", True],
        )
        return self.pick([stop, ["keep", value]], [["keep", value]], [stop, ["keep", value], *self.part_patch(kind)])

    def part_scale(self, kind: str) -> Json:
        where = [W, "default", "w"]
        del kind
        return self.pick(
            [["soft", ["get", "o", where, self.chance(0.5), "scale"]]],
            [self.soft(["scale", where, self.pick(2, 3)])],
            [["soft", ["get", "a", where, False, "scale"]], ["soft", ["scale", where, 3]]],
            [["soft", ["get", "a", where, False, "status"]]],
        )

    def part_put(self, kind: str) -> Json:
        name: Json = self.pick("x", "y", ["text", ["const", "l"], ["field", "o", "spec", "size"]])
        make = ["put", [LEASE, "default", name], [[["metadata", "annotations", "n"], self.value(kind)]]]
        return self.pick([self.soft(make)], [["get", "a", [LEASE, "default", "x"], self.chance(0.5)], self.soft(make)])

    def part_evict(self, kind: str) -> Json:
        del kind
        budget = [BUDGET, "default", "b"]
        allow = [["get", "a", budget, self.chance(0.5)], self.soft(["status", "a", "disruptionsAllowed", ["const", 1]])]
        return self.pick([["soft", ["evict", "p"]]], [["soft", ["evict", "p"]]], allow, [["list", "l", POD, False]])

    def part_asyncio(self, kind: str) -> Json:
        one, two = self.single(kind), self.single(kind)
        read = self.pick(["get", "a", MAP, True], ["list", "l", CM, False], ["get", "a", SELF, True])
        return self.pick(
            [["gather", one, two]],
            [["gather", read, one]],
            [["gather", read, ["get", "o", SELF, False]]],
            [["group", one, two]],
            [["sleep", self.pick(0, 0.5)], one],
            [["wait_for", 5, one]],
            [["within", 1, ["sleep", 2]], one],
            [["wait_for", 1, ["sleep", self.pick(0.5, 2)]], ["stop_unless_there", "late"], one],
        )

    def single(self, kind: str) -> Json:
        """One write that does not end the reconcile."""
        return ["soft", self.pick(
            ["create", OUT, [[["data", "v"], self.value(kind)]]],
            ["create", [CM, "default", "b"]],
            ["blind", SELF, ["metadata", "labels", "l"], ["const", "1"]],
            ["patch", "o", self.place(kind), ["const", "1"], False],
        )]  # fmt: skip

    def part_delete(self, kind: str) -> Json:
        del kind
        return self.pick(
            [self.soft(["delete", "o"])],
            [["when", ["field", "o", "spec", "size"], ["const", 2], [self.soft(["delete", "o"])]]],
            [["get", "a", OUT, self.chance(0.5)], self.soft(["delete", "a"])],
            [["soft", ["delete_at", OUT]]],
        )

    def part_delete_all(self, kind: str) -> Json:
        return self.pick(
            [["delete_all", CM, self.pick("", "l=1")]],
            [["delete_all", kind, self.pick("", "l=1", "l=1")]],
            [["delete_all", CM], ["list", "l", CM, False]],
            [["list", "l", kind, False], ["when", ["count", "l"], ["const", 2], [["delete_all", kind]]]],
        )

    def part_apply(self, kind: str) -> Json:
        path, value = self.place(kind), self.value(kind)
        if path[:2] == ["metadata", "labels"]:
            value = ["const", "1"]
        return self.pick(
            [self.soft(["apply", SELF, [[path, value]], self.chance(0.6)])],
            [self.soft(["apply", OUT, [[["data", "v"], self.value(kind)]], self.chance(0.6)])],
            [self.soft(["apply", SELF, [[["status", "p"], value]], True, True])],
        )

    def part_finalizer(self, kind: str) -> Json:
        del kind
        name = self.pick("example.com/a", "example.com/b")
        return self.pick(
            [self.soft(["finalizer", "o", name, self.chance(0.5)])],
            [self.soft(["finalizer", "o", name, self.chance(0.5)]), self.soft(["release", "o", name])],
            [self.soft(["release", "o", name])],
            [self.soft(["delete", "o"])],
        )

    def part_error(self, kind: str) -> Json:
        done = ["field", "o", *self.place(kind)]
        what = self.pick(["create", self.out()], ["patch", "o", self.place(kind), ["const", "1"], False])
        about: Json = self.pick(
            [["requeue_after", 5]],
            [["requeue"]],
            [["soft", ["create", [CM, "default", "b"]]]],
            [["soft", ["create", [CM, "default", "b"], [[["data", "v"], ["field", "error", "code"]]]]]],
            [["keep", ["field", "error", self.pick("code", "after")]]],
            [["fail"]],
        )
        return self.pick(
            [["caught", what, self.pick(0, 429, 429, 503, 500, 409), about]],
            [["caught", what, self.pick(0, 429, 429, 503, 500, 409), about], *self.part_create(kind)],
            [["unless", done, ["const", self.pick(1, "1", "x")], [["fail"]]]],
            [["unless", done, ["const", self.pick(1, "1", "x")], [self.pick(["requeue"], ["requeue_after", 1])]]],
            [["create", self.out()], ["requeue"]],
            [["patch", "o", self.place(kind), ["const", "1"], True], ["requeue_after", 0]],
        )

    def part_timer(self, kind: str) -> Json:
        later = ["requeue_after", self.pick(1, 5, 5, 60)]
        done = self.pick(["kept"], ["field", "o", *self.place(kind)])
        first = ["unless", done, ["const", self.pick(1, "1", "x")], [["keep", ["const", 1]], later]]
        return self.pick(
            [first],
            [first, *self.part_patch(kind)],
            [*self.part_patch(kind), later],
            [*self.part_create(kind), first],
            [["get", "o", SELF, True], first, *self.part_status(kind)],
        )

    def part_clock(self, kind: str) -> Json:
        stamp = ["metadata", "annotations", "t"]
        seconds = self.pick(1, 5, 5, 60)
        first = ["when", ["field", "o", *stamp], ["const", "none"], [["patch", "o", stamp, ["now"], self.chance(0.3)]]]
        wait = [
            "unless",
            ["since", "o", self.pick(seconds, 5, 3 * seconds), *stamp],
            ["const", True],
            [["requeue_after", seconds]],
        ]
        note = self.pick(
            ["patch", "o", self.pick(["metadata", "annotations", "n"], self.place(kind)), ["const", "1"], False],
            ["create", OUT, [[["data", "v"], self.pick(["now"], ["const", "1"])]]],
        )
        return self.pick(
            [first, wait, self.soft(note)],
            [first, wait, self.soft(note)],
            [first],
            [["patch", "o", stamp, ["now"], False], ["requeue_after", seconds]],
            [["patch", "o", stamp, ["now"], False]],
            [["soft", ["create", OUT, [[["data", "v"], ["now"]]]]], wait],
            [["stop_if", ["kept"], ["now"]], ["keep", ["now"]], self.soft(note), ["requeue_after", seconds]],
        )

    def part_generation(self, kind: str) -> Json:
        value = ["generation", "o"]
        if kind == CM:
            return self.part_patch(kind)
        if "no status" in self.themes:
            return [self.soft(["patch", "o", ["status", "observedGeneration"], value, False])]
        return self.pick(
            [self.soft(["status", "o", "observedGeneration", value, None])],
            [["unless", value, ["const", self.pick(1, 2)], [self.soft(["create", OUT, [[["data", "v"], value]]])]]],
            [
                [
                    "when",
                    ["field", "o", "spec", "size"],
                    ["const", 2],
                    [["soft", ["patch", "o", ["spec", "size"], ["const", 1], False]]],
                ]
            ],
            [["get", "a", OUT, self.chance(0.5)], ["stop_if", ["field", "a", "data", "v"], ["text", value]]],
        )
