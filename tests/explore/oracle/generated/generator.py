"""Makes small scenarios from a seed: the same seed gives the same scenario everywhere."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from explore.oracle.generated.descriptions import PREDICATES, possible, weight
from explore.oracle.generated.drawing import MAP
from explore.oracle.generated.further_parts import FURTHER_THEMES
from explore.oracle.generated.later_parts import LATER_THEMES, LaterParts
from explore.oracle.generated.objects import BUDGET, CM, NAMESPACE, POD, W2, Json, W
from explore.oracle.generated.questions import OF_WRITES, PROPERTIES

#: Each scenario has a few themes, which add instructions to the common ones.
THEMES: Final = (
    "undeclared", "versions", "namespaces", "generated names", "version in text", "uid in text", "memory", "no status",
    "scale", "put", "owners", "eviction", "asyncio", "recreate", "delete all", "apply", "finalizers", "mapping",
    "predicates", "errors", "uuids", "generations", "two controllers", "conditions", "index", "definitions", "timers",
    "clock",
)  # fmt: skip
#: The weight from which on a scenario is made lighter.
HEAVIEST: Final = 45.0
FURTHER_HEAVIEST: Final = 16.0
#: Seeds from here on have one of the further themes in two of three scenarios.
FURTHER_FROM: Final = 40_000_000
#: And from here on one of the latest themes.
LATER_FROM: Final = 60_000_000


def description(seed: int) -> dict[str, Any]:
    """Describe a scenario as JSON."""
    random = Random(seed)
    themes = set(random.sample(THEMES, random.choice((1, 2, 2, 3))))
    if seed >= LATER_FROM and random.random() < 2 / 3:
        themes = set(random.sample(THEMES, random.choice((0, 0, 1)))) | {random.choice(LATER_THEMES)}
        themes -= {"clock"} if "deadlines" in themes else set()  # what is written then would tell retries apart
    elif seed >= FURTHER_FROM and random.random() < 2 / 3:
        themes = set(random.sample(THEMES, random.choice((0, 1, 1, 2)))) | {random.choice(FURTHER_THEMES)}
    return _ScenarioMaker(random, themes).scenario()


class _ScenarioMaker(LaterParts):
    """Draws one scenario."""

    def scenario(self) -> dict[str, Any]:
        many = "two controllers" in self.themes or self.chance(0.35)
        controllers = [self.controller(index) for index in range(2 if many else 1)]
        objects = self.objects()
        made = {
            "themes": sorted(self.themes),
            "controllers": controllers,
            "collector": self.collector(),
            "crd": self.crd(),
            "objects": objects,
            "actions": possible(objects, self.actions(objects)),
            "properties": self.properties(),
            "lag": self.pick(0, 1, 1, 1, 2),
            "concurrent": 1 if many else self.pick(1, 1, 2),
            "atomic": self.chance(0.2),
            "guards": self.pick("on", "off", "off", "reads", "deletes", "status"),
            "faults": self.faults(),
        }
        self.finish(made)
        heaviest = FURTHER_HEAVIEST if self.themes & {*FURTHER_THEMES, *LATER_THEMES} else HEAVIEST
        while weight(made) > heaviest and self.lighten(made):
            pass
        # The oracle does not share own writes between controllers, so guarded reads need caches of their own.
        is_shared = made["guards"] not in ("on", "reads") and self.chance(0.6)
        made["processes"] = "together" if is_shared else "apart"
        return made

    def lighten(self, made: dict[str, Any]) -> bool:
        """Take something away that makes many states; False where nothing is left to take."""
        ways = [name for name, least in (("lag", 0), ("concurrent", 1)) if made[name] > least]
        ways += ["actions"] if len(made["actions"]) > 1 else []
        ways += ["code"] if max(len(controller["code"]) for controller in made["controllers"]) > 3 else []
        if self.themes & {*FURTHER_THEMES, *LATER_THEMES}:
            ways += ["faults"] if made["faults"] else []
            ways += ["writers"] if sum(len(writer["actions"]) for writer in made.get("writers", ())) > 1 else []
        if not ways:
            return False
        way = self.pick(*ways)
        if way in ("faults", "writers"):
            if way == "faults":
                made["faults"] = {}
            else:
                max(made["writers"], key=lambda writer: len(writer["actions"]))["actions"].pop()
            return True
        if way == "actions":
            made["actions"].pop()
        elif way == "code":
            max(made["controllers"], key=lambda controller: len(controller["code"]))["code"].pop()
        else:
            made[way] -= 1
        return True

    def faults(self) -> dict[str, int]:
        """The bounds on faults: none in half of the scenarios, one kind in most of the others."""
        if self.chance(0.5):
            return {}
        kinds = ("crashes", "failed", "lost", "handovers")
        one = ((1, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))
        made = dict(zip(kinds, self.pick(*one, (1, 1, 1, 0), (1, 0, 1, 1)), strict=True))
        rewind = self.pick(0, 1, 1, 2) if made["crashes"] else 0
        return {"faults": self.pick(1, 1, 1, 2), "rewind": rewind, **made}

    def collector(self) -> str:
        if "owners" in self.themes:
            return str(self.pick("", "", "some kinds", "some kinds", "garbagecollector"))
        return str(self.pick("", "namespace")) if "namespaces" in self.themes and self.chance(0.3) else ""

    def crd(self) -> list[str]:
        return sorted(self.themes & {"no status", "versions", "scale"})

    def objects(self) -> list[Json]:
        found: list[Json] = []
        if not ("recreate" in self.themes and self.chance(0.5)):
            found.append([W, "default", "w", self.pick({}, {}, {"labels": {"l": "0"}})])
        if self.chance(0.4) or "undeclared" in self.themes:
            found.append([*MAP, {}])
        if "eviction" in self.themes:
            found.append([POD, "default", "p", {}])
            if self.chance(0.8):
                found.append([BUDGET, "default", "b", {}])
        return [*found, *self.further_objects()] or [[*MAP, {}]]

    def actions(self, objects: list[Json]) -> list[Json]:
        widget = [W, "default", "w"]
        there = any(obj[0] == W for obj in objects)
        pool: list[Json] = [
            ["patch", widget, {"spec": {"size": 2}}],
            ["patch", widget, {"metadata": {"labels": {"l": "1"}}}],
        ]
        if any(obj[:3] == MAP for obj in objects):
            pool += [["patch", MAP, {"data": {"v": "1"}}], ["delete", MAP]]
        if self.themes & {"recreate", "finalizers", "owners", "owned deletes"}:
            pool += [["delete", widget], ["delete", widget]]
        if "namespaces" in self.themes:
            pool += [["create", [NAMESPACE, "", "late"]], ["delete", [NAMESPACE, "", "late"]]]
        if "eviction" in self.themes:
            pool += [["patch", [BUDGET, "default", "b"], {"spec": {"maxUnavailable": 2}}]]
        chosen = [self.pick(*pool) for _ in range(self.pick(0, 1, 1, 1, 2, 2))]
        if "recreate" in self.themes:
            again = [["delete", widget], ["create", widget]]
            chosen = again if there else [["create", widget], *again][: self.pick(2, 3)]
        elif not there and self.chance(0.8):
            chosen = [["create", widget], *chosen[:1]]
        elif "owned deletes" in self.themes and there and self.chance(0.6):
            chosen = [["delete", widget], ["create", widget]]
        if "generations" in self.themes:
            chosen = [["patch", widget, {"spec": {"size": 2}}], ["patch", widget, {"spec": {"size": self.pick(2, 3)}}]]
        return chosen

    def properties(self) -> list[Json]:
        found = []
        for name in self.random.sample(sorted(PROPERTIES), self.pick(1, 2, 2, 3)):
            modes = ("always", "never") if name in OF_WRITES else ("always", "never", "eventually", "sometimes")
            found.append([self.pick(*modes), name])
        return found

    def controller(self, index: int) -> dict[str, Any]:
        kinds = [W, W, W, CM] if index else [W, W, W, W, CM]
        if "versions" in self.themes:
            kinds.append(W2)
        kind = self.pick(*kinds)
        made: dict[str, Any] = {"name": f"p{index}", "kind": kind, "owns": [], "watches": {}, "predicates": {}}
        other = CM if kind != CM else W
        if "owners" in self.themes or self.chance(0.15):
            made["owns"] = [CM] if kind != CM else []
        elif "mapping" in self.themes or self.chance(0.15):
            made["watches"] = {other: self.pick("widget", "widget", "labelled", "namesake", "nobody")}
        if "predicates" in self.themes:
            made["predicates"] = {kind: self.pick(*PREDICATES)}
        if "index" in self.themes:
            made["index"] = True
        made["code"] = self.code(kind)
        return made
