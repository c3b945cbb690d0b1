"""Draws the pieces of instructions: values, fields, places of objects."""

from __future__ import annotations

import copy
from random import Random
from typing import Any, Final

from explore.oracle.generated.objects import CM, SECRET, Json

SELF: Final = "self"
OUT: Final = [CM, "default", "out"]
MAP: Final = [CM, "default", "a"]


class Drawing:
    """Draws pieces that suit the themes of a scenario."""

    def __init__(self, random: Random, themes: set[str]) -> None:
        self.random = random
        self.themes = themes

    def pick(self, *choices: Any) -> Any:
        """Draw one of the choices."""
        return copy.deepcopy(self.random.choice(choices))

    def chance(self, of: float) -> bool:
        """Draw yes or no."""
        return self.random.random() < of

    def value(self, kind: str) -> Json:
        """Something to write."""
        pool: list[Json] = [["const", "x"], ["const", 1], ["more", "o", self.pick(2, 3), *self.place(kind)]]
        pool += [["field", "o", *self.place(kind)], ["field", "o", "spec", "size"], ["count", "l"]]
        if "version in text" in self.themes:
            pool += [["version", self.pick("o", "o", "a")]] * 4
        if "uid in text" in self.themes:
            pool += [["uid", self.pick("o", "a"), self.pick(0, 8, 4, -8)]] * 4
        if "generations" in self.themes or "no status" in self.themes:
            pool += [["generation", "o"]] * 4
        if "uuids" in self.themes:
            pool += [["uuid"]] * 3
        if "memory" in self.themes:
            pool += [["kept"]] * 2
        if "undeclared" in self.themes or "versions" in self.themes:
            pool += [["field", "a", *self.pick(("data", "v"), ("spec", "size"))]] * 3
        return self.pick(*pool)

    def place(self, kind: str) -> Json:
        """The fields in which an object of a kind can hold something."""
        if kind in (CM,):
            return list(self.pick(("data", "v"), ("data", "n"), ("metadata", "annotations", "n")))
        return list(
            self.pick(
                ("spec", "size"),
                ("spec", "size"),
                ("metadata", "labels", "l"),
                ("metadata", "labels", "l"),
                ("metadata", "annotations", "n"),
                ("spec", "n"),
            )
        )

    def out(self) -> Json:
        """A place for a new object, sometimes with an identifier in its name."""
        pool: list[Json] = [OUT, OUT, [CM, "default", ["text", ["const", "out"], ["field", "o", "spec", "size"]]]]
        for theme, name in (
            ("version in text", ["version", "o"]),
            ("uid in text", ["uid", "o", self.pick(0, 8, 4)]),
            ("uuids", ["uuid"]),
            ("generations", ["generation", "o"]),
        ):
            if theme in self.themes:
                pool += [[CM, "default", ["text", ["const", "out"], name]]] * 2
        if "namespaces" in self.themes:
            pool += [[self.pick(CM, SECRET), "late", "out"]] * 4
        return self.pick(*pool)

    def guarded(self, *instructions: Json) -> Json:
        """Instructions that are run while something is not done yet, or always."""
        if self.chance(0.4):
            return [
                [
                    "unless",
                    ["field", "o", "metadata", "labels", "l"],
                    ["const", self.pick("1", "x")],
                    list(instructions),
                ]
            ]
        return list(instructions)

    def soft(self, instruction: Json) -> Json:
        return ["soft", instruction] if self.chance(0.75) else instruction
