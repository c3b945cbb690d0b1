"""Further things that generated scenarios do: several users, conditions, reconciles at once, functions that look."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from explore.oracle.generated.code_maker import CodeMaker
from explore.oracle.generated.drawing import MAP, OUT, SELF
from explore.oracle.generated.objects import CM, LEASE, Json, W
from explore.oracle.generated.questions import CONDITIONS

#: Themes of scenarios from a certain seed on, beside the others: older seeds make what they always made.
FURTHER_THEMES: Final = (
    "writers", "waiting users", "max concurrent", "instances", "looking", "owned deletes", "reread", "two widgets",
    "apart",
)  # fmt: skip
WIDGET: Final = [W, "default", "w"]
OTHER: Final = [W, "default", "v"]


class FurtherParts(CodeMaker):
    """Draws what the further themes need."""

    further: ClassVar[Mapping[str, Sequence[str]]] = {
        "owned deletes": ["owned delete"] * 4,
        "reread": ["reread"] * 5,
        "looking": ["crowd"] * 3,
    }

    def part_reread(self, kind: str) -> Json:
        """Work for what was read, and stamp what is read again."""
        if kind == CM:
            return self.part_patch(kind)
        work = self.pick(["create", OUT, []], ["create", OUT, [[["data", "v"], self.value(kind)]]], ["get", "a", MAP])
        stamp = self.pick(["status", "o", "observedGeneration", ["generation", "o"], None])
        again = ["get", "o", SELF, self.chance(0.7)]
        return [["soft", work], again, ["stop_unless_there", "o"], self.soft(stamp)]

    def part_owned_delete(self, kind: str) -> Json:
        """Make a child of the object, or delete the one that is there."""
        make = ["soft", ["create", OUT, [], "o"]]
        read = ["get", "a", OUT, self.chance(0.5)]
        tidy = self.pick(
            ["soft", ["delete_at", OUT]],
            ["soft", ["delete", "a"]],
            ["when", ["field", "o", "spec", "size"], ["const", 2], [["soft", ["delete", "a"]]]],
            ["delete_all", CM],
        )
        del kind
        return self.pick([make, read, tidy], [read, tidy, make], [make], [read, tidy])

    def part_crowd(self, kind: str) -> Json:
        """Make one more of what a mapping function counts."""
        del kind
        name = self.pick("b", "out")
        return self.pick(
            [["soft", ["create", [CM, "default", name]]]],
            [["soft", ["create", [CM, "default", "b"]]], ["soft", ["create", OUT]]],
            [["soft", ["put", [LEASE, "default", "x"]]], ["get", "a", [LEASE, "default", "x"], False]],
            [["get", "a", [LEASE, "default", "x"], False], ["soft", ["create", [CM, "default", name]]]],
        )

    def further_objects(self) -> list[Json]:
        """Objects that the themes need."""
        found: list[Json] = []
        if self.themes & {"max concurrent", "two widgets", "apart"}:
            found.append([*OTHER, {}])
        return found

    def finish(self, made: dict[str, Any]) -> None:
        """Change a description for the further themes."""
        if "apart" in self.themes:
            self._set_apart(made)
        if "writers" in self.themes:
            made["writers"] = [self._writer(name) for name in ("reporter", "scaler")[: self.pick(1, 1, 2)]]
        if "waiting users" in self.themes:
            made["actions"] = [[*action, self._waiting()] for action in made["actions"]]
        if "instances" in self.themes:
            made["concurrent"], made["instances"] = 1, {self.pick("p0", made["controllers"][-1]["name"]): 2}
        if "looking" in self.themes:
            for controller in made["controllers"]:
                if controller["kind"] != CM:
                    controller["owns"], mapper = [], self.pick("crowded", "alone", "leased", "all")
                    controller["watches"] = {CM: mapper}
            made["lag"] = self.pick(1, 2, 2)
        if "max concurrent" in self.themes:
            for controller in made["controllers"]:
                while "ke" in {word[:2] for word in _words(controller["code"])}:
                    controller["code"] = self.code(controller["kind"])
                controller["max_concurrent"] = 2
            made["guards"] = self.pick("off", "deletes", "status")
            made["concurrent"] = 1

    def _set_apart(self, made: dict[str, Any]) -> None:
        """Objects that have nothing to do with each other: all that a reconcile touches has the name of its request."""
        for controller in made["controllers"]:
            controller |= {"kind": W, "owns": self.pick([], [CM]), "watches": {}, "forgets": True}
            controller["code"] = [["get", "o", SELF, self.chance(0.3)], ["stop_unless_there", "o"]]
            for _ in range(self.pick(1, 1, 2)):
                controller["code"] += self._apart()
        pool = [["patch", widget, {"spec": {"size": 2}}] for widget in (WIDGET, OTHER)] + [["delete", OTHER]]
        made["actions"] = [self.pick(*pool)] if self.chance(0.6) else []
        made["properties"] = [["eventually", name] for name in self.pick([], ["has_status"], ["labelled"])]
        made["objects"] = [[*WIDGET, self.pick({}, {"labels": {"l": "0"}})], [*OTHER, {}]]
        made["collector"] = ""

    def _apart(self) -> Json:
        child = [CM, "default", ["text", ["const", "out"], ["request"]]]
        value = self.pick(["const", "1"], ["field", "o", "spec", "size"], ["generation", "o"])
        return self.pick(
            [self.soft(["create", child, [[["data", "v"], value]], self.pick("", "o")])],
            [["get", "a", child, self.chance(0.7)], ["stop_if", ["count", "a"], ["const", 1]], ["create", child]],
            [self.soft(["blind", child, ["data", "v"], value])],
            [self.soft(["status", "o", self.pick("phase", "observedGeneration"), value, None])],
            [self.soft(["patch", "o", ["metadata", "labels", "l"], ["const", "1"], self.chance(0.5)])],
            [self.soft(["update", "o", ["spec", "n"], value])],
            [["when", ["field", "o", "spec", "size"], ["const", 2], [self.soft(["delete_at", child])]]],
            [self.soft(["finalizer", "o", "example.com/a"]), self.soft(["release", "o", "example.com/a"])],
        )

    def _writer(self, name: str) -> Json:
        pool: list[Json] = [
            ["patch", WIDGET, {"status": {"n": name}}, {"subresource": "status"}],
            ["patch", WIDGET, {"spec": {"size": 3}}, {}],
            ["patch", WIDGET, {"metadata": {"labels": {"l": self.pick("1", "2")}}}, {}],
            ["patch", WIDGET, {"spec": {"n": name}}, {}],
            ["create", [CM, "default", "b"], {}],
        ]
        actions = [self.pick(*pool) for _ in range(self.pick(1, 1, 2))]
        for action in actions:
            if self.chance(0.3):
                action[-1].update(self._waiting())
        return {"name": name, "actions": actions, "ordered": self.chance(0.6)}

    def _waiting(self) -> Json:
        return self.pick({"when": self.pick(*sorted(CONDITIONS))}, {"retry": True}, {})


def _words(code: Json) -> list[str]:
    return json.dumps(code).replace('"', " ").split()
