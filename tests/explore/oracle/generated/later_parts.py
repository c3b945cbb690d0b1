"""Draws what the latest seeds add: admission policies with parameters, windows of time, deadlines, and counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from explore.oracle.generated.descriptions import possible
from explore.oracle.generated.drawing import MAP, OUT
from explore.oracle.generated.further_parts import FurtherParts
from explore.oracle.generated.objects import CM, Json, W

#: Themes of scenarios from a certain seed on, beside the others: older seeds make what they always made.
LATER_THEMES: Final = ("policies", "windows", "deadlines", "counters")
#: For each unit of time, the seconds between two looks, and the windows that are met within a few of them.
WINDOWS: Final[Mapping[str, tuple[int, Sequence[int]]]] = {
    "quarter of an hour": (900, (1, 2, 3)),
    "quarter of a day": (21_600, (1, 2, 3)),
    "weekday": (86_400, (4, 5, 6, 0)),
}
DONE: Final = ["metadata", "annotations", "done"]


class LaterParts(FurtherParts):
    """Draws what the latest themes need."""

    further: ClassVar[Mapping[str, Sequence[str]]] = {
        **FurtherParts.further,
        "policies": ["refused"] * 4,
        "windows": ["window"] * 12,
        "deadlines": ["deadline"] * 12,
        "counters": ["counter"] * 8,
    }

    def part_refused(self, kind: str) -> Json:
        """Write what a policy may refuse, and perhaps go on with something else then."""
        write: Json = self.pick(
            ["create", OUT, [[["data", "v"], self.value(kind)]]],
            ["create", [CM, "default", "b"]],
            ["patch", "o", ["metadata", "labels", "l"], ["const", "1"], False],
        )
        otherwise: Json = self.pick(["requeue_after", 5], ["soft", ["create", [CM, "default", "b"]]], ["fail"])
        return self.pick([write], [["soft", write]], [["caught", write, self.pick(0, 403, 422), [otherwise]]])

    def part_window(self, _kind: str) -> Json:
        """Do something in a window of time, once."""
        unit = self.pick(*WINDOWS)
        period, slots = WINDOWS[unit]
        return self._once_when(["window", unit, self.pick(*slots)], ["requeue_after", period])

    def part_deadline(self, _kind: str) -> Json:
        """Do something after a deadline, which retries wait for."""
        stamp = ["metadata", "annotations", "t"]
        first = ["when", ["field", "o", *stamp], ["const", "none"], [["patch", "o", stamp, ["now"], False]]]
        late = ["since", "o", self.pick(3, 20, 60), *stamp]
        return [first, *self._once_when(late, self.pick(["requeue"], ["fail"], ["requeue_after", 20]))]

    def _once_when(self, time: Json, otherwise: Json) -> Json:
        act: Json = self.pick(
            ["soft", ["create", OUT, [[["data", "v"], ["const", "1"]]]]],
            ["patch", "o", ["metadata", "labels", "l"], ["const", "1"], False],
        )
        done = ["patch", "o", DONE, ["const", "1"], False]
        wait = ["unless", time, ["const", True], [otherwise]]
        return [["unless", ["field", "o", *DONE], ["const", "1"], [wait, act, done]]]

    def part_counter(self, kind: str) -> Json:
        """Count up to a number, and do something then."""
        end = self.pick(4, 6, 9)
        act: Json = self.pick(["soft", ["create", OUT]], ["patch", "o", DONE, ["const", "1"], False])
        again: Json = self.pick(["requeue_after", 5], ["requeue_after", 5], ["requeue"], ["fail"])
        if self.chance(0.4):
            return [["unless", ["kept"], ["const", end], [["keep", ["more kept", end]], again]], act]
        path = self.pick(["metadata", "annotations", "n"], ["spec", "n"]) if kind != CM else ["data", "n"]
        count = ["patch", "o", path, ["more", "o", end, *path], self.chance(0.5)]
        ended = ["const", end if path[0] == "spec" else str(end)]
        return [["unless", ["field", "o", *path], ended, [count, again]], act]

    def finish(self, made: dict[str, Any]) -> None:
        """Change a description for the latest themes."""
        super().finish(made)
        if "policies" in self.themes:
            self._govern(made)

    def _govern(self, made: dict[str, Any]) -> None:
        """Add a policy, with the config map ``a`` as its parameters; the user may change it."""
        made["policy"] = {
            "resources": self.pick("configmaps", "configmaps", "widgets"),
            "operations": self.pick(["CREATE"], ["UPDATE"], ["CREATE", "UPDATE"]),
            "allowed": self.pick("0", "0", "1"),
            "missing": self.pick("Allow", "Deny"),
        }
        if not any(obj[:3] == MAP for obj in made["objects"]) and self.chance(0.8):
            made["objects"].append([*MAP, {}])
        changes: list[Json] = [["patch", MAP, {"data": {"v": "1"}}]] * 2 + [["delete", MAP]]
        if self.chance(0.8) and [*MAP, {}] in made["objects"]:
            made["actions"] = possible(made["objects"], [*made["actions"][:1], self.pick(*changes)])
        if any(action[1][0] == W for action in made["actions"]):  # the user's own would be refused
            made["policy"]["resources"] = "configmaps"
        if made["controllers"][0]["kind"] == W and self.chance(0.3):
            made["controllers"][0]["code"].append(["get", "a", MAP, self.chance(0.5)])
