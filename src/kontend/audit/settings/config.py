"""Settings: `[tool.kontend.audit]` in pyproject.toml, or `.kontend.toml` with the same keys under `[audit]`.

The nearest file at or above the first audited path is used. Settings may differ by path:
`[[tool.kontend.audit.paths]]` entries name patterns and their own policy, severities or ignores; a later entry that
matches wins.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from kontend.audit.finding import Finding, Severity
from kontend.audit.rules import UnknownRule, find_rule
from kontend.audit.settings.policy import POLICIES, Policy

_KEYS = {
    "policy",
    "severity",
    "ignore",
    "exclude",
    "owners",
    "paths",
    "include-tests",
    "include-generated",
    "fail-on",
    "show",
    "baseline",
    "select",
}
_PATH_KEYS = {"path", "policy", "severity", "ignore"}


class ConfigError(Exception):
    """A setting that cannot be used; the message names the file and the key."""


@dataclass(frozen=True, slots=True)
class PathSettings:
    """Settings for the paths that match a pattern."""

    pattern: str
    policy: Policy | None = None
    severities: Mapping[str, Severity | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set."""

    policy: Policy = POLICIES["default"]
    severities: Mapping[str, Severity | None] = field(default_factory=dict)
    paths: tuple[PathSettings, ...] = ()
    exclude: tuple[str, ...] = ()
    include_tests: bool = False
    include_generated: bool = False
    fail_on: Severity | None = Severity.ERROR
    show: Severity = Severity.WARNING
    baseline: str | None = None
    root: str = ""
    source: str = ""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    """The keys that the settings file sets."""

    def selects(self, finding: Finding) -> bool:
        """Decide whether a finding passes `--select` and `--ignore`; the worst of its rules decides the first."""
        if self.select and not set(self.select) & set(finding.names):
            return False
        return finding.rule not in self.ignore

    def notes(self) -> tuple[str, ...]:
        """Report settings that were found in the audited tree: they decide what the audit says."""
        if not self.given:
            return ()
        return (f"settings from {self.source}: {', '.join(self.given)} (--isolated leaves them out)",)

    def for_path(self, path: str) -> Policy:
        """Return the policy for a file, with the severities that apply to it."""
        policy, severities = self.policy, dict(self.severities)
        relative = _relative(path, self.root)
        for entry in self.paths:
            if (
                fnmatch(relative, entry.pattern)
                or fnmatch(path, entry.pattern)
                or fnmatch(relative, entry.pattern.rstrip("/") + "/*")
            ):
                if entry.policy is not None:
                    policy = replace(entry.policy, owners=self.policy.owners)
                severities |= entry.severities
        if not severities:
            return policy
        return replace(policy, severities={**policy.severities, **severities}, overridden=frozenset(severities))


def _relative(path: str, root: str) -> str:
    try:
        return Path(path).resolve().relative_to(root).as_posix() if root else path
    except (ValueError, OSError):
        return path


def discover(start: str) -> Settings:
    """Find the settings for a path, or the defaults."""
    try:
        directory = Path(start).resolve()
    except OSError:
        return Settings()
    for place in (directory, *directory.parents):
        own = place / ".kontend.toml"
        if own.is_file():
            return load(own)
        project = place / "pyproject.toml"
        if project.is_file():
            table = _table(project)
            if table is not None:
                return _settings(table, project)
        if (place / ".git").exists():
            break
    return Settings()


def load(path: Path) -> Settings:
    """Read the settings of one file."""
    table = _table(path)
    return _settings(table, path) if table is not None else Settings(root=str(path.parent), source=str(path))


def _table(path: Path) -> dict[str, Any] | None:
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    table: Any = content
    keys = ("tool", "kontend", "audit") if path.name == "pyproject.toml" else ("audit",)
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else None


def _settings(table: dict[str, Any], path: Path) -> Settings:
    _known(table, _KEYS, path)
    policy = _policy(table.get("policy", "default"), path)
    owners = table.get("owners", {})
    if not isinstance(owners, dict):
        raise ConfigError(
            f'{path}: owners must be a table of kinds to path patterns, for example Widget = ["internal/widget/*"]'
        )
    policy = replace(policy, owners={kind: tuple(_strings(given, path, "owners")) for kind, given in owners.items()})
    entries = table.get("paths", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ConfigError(f"{path}: paths must be an array of tables, [[tool.kontend.audit.paths]]")
    fail_on = table.get("fail-on", "error")
    return Settings(
        policy=policy,
        severities=_severities(table, path),
        select=tuple(_rule(name, path) for name in _strings(table.get("select", []), path, "select")),
        paths=tuple(_path_settings(entry, path) for entry in entries),
        exclude=tuple(_strings(table.get("exclude", []), path, "exclude")),
        include_tests=bool(table.get("include-tests", False)),
        include_generated=bool(table.get("include-generated", False)),
        fail_on=None if fail_on == "never" else _severity(fail_on, path, "fail-on"),
        show=_severity(table.get("show", "warning"), path, "show") or Severity.WARNING,
        baseline=table.get("baseline"),
        root=str(path.parent.resolve()),
        source=_shown(path),
        given=tuple(sorted(table)),
    )


def _shown(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def _path_settings(entry: dict[str, Any], path: Path) -> PathSettings:
    _known(entry, _PATH_KEYS, path)
    pattern = entry.get("path")
    if not isinstance(pattern, str):
        raise ConfigError(f'{path}: an entry of paths needs a path, for example path = "internal/legacy/*"')
    policy = _policy(entry["policy"], path) if "policy" in entry else None
    return PathSettings(pattern, policy, _severities(entry, path))


def _severities(table: dict[str, Any], path: Path) -> dict[str, Severity | None]:
    severities: dict[str, Severity | None] = {}
    given = table.get("severity", {})
    if not isinstance(given, dict):
        raise ConfigError(f"{path}: severity must be a table of rule names to error, warning, info or off")
    for name, value in given.items():
        severities[_rule(name, path)] = None if value == "off" else _severity(value, path, f"severity.{name}")
    for name in _strings(table.get("ignore", []), path, "ignore"):
        severities[_rule(name, path)] = None
    return severities


def _rule(name: str, path: Path) -> str:
    try:
        return find_rule(name).name
    except UnknownRule as error:
        raise ConfigError(f"{path}: {error}") from error


def _policy(name: object, path: Path | str) -> Policy:
    if not isinstance(name, str) or name not in POLICIES:
        raise ConfigError(f"{path}: there is no policy {name!r}; choose one of {', '.join(POLICIES)}")
    return POLICIES[name]


def _severity(value: object, path: Path, key: str) -> Severity:
    try:
        return Severity(str(value))
    except ValueError as error:
        raise ConfigError(f"{path}: {key} is {value!r}; choose one of error, warning, info") from error


def _strings(value: object, path: Path, key: str) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return list(value)
    raise ConfigError(f"{path}: {key} must be a list of strings")


def _known(table: dict[str, Any], keys: set[str], path: Path) -> None:
    strange = sorted(set(table) - keys)
    if strange:
        raise ConfigError(f"{path}: unknown setting {', '.join(strange)}; known are {', '.join(sorted(keys))}")
