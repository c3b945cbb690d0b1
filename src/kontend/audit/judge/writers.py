"""Writers of the same status, compared: the ones that can run side by side and the fields that they share.

Two sites are different writers when nothing orders them: they are in different workers (a Go package, a kopf resource,
a Python file), some program contains both, and no predicate splits the objects between them. Copies of one function in
several programs are alternatives of which one is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from kontend.audit.finding import Finding, at_site
from kontend.audit.rules import RULES
from kontend.audit.settings.policy import Policy
from kontend.audit.site import BaseOrigin, Location, Lock, PatchType, Role, Site, Verb, resource_key

_UNORDERED = (Lock.UNLOCKED, Lock.MIXED)
_STRONGER = ("list-merge-patch-without-lock", "status-read-modify-write-unguarded", "counter-without-lock")


#: The sites of one worker that a site is compared with. Sites are compared in pairs, so a package with thousands of
#: generated writes would take minutes; the first ones name the functions that a reader looks at anyway.
_FEW = 200
#: The writers of one field beyond which it is taken for generated code, and not compared.
_MOST_OF_A_FIELD = 400
#: The other writers that a finding can name.
_MOST_NAMED = 8


class Writers:
    """Status writers by resource, to look up the others of a site."""

    def __init__(self, sites: Iterable[Site]) -> None:
        self._by_kind: dict[str, list[Site]] = {}
        self._named: dict[tuple[str, int], frozenset[str]] = {}
        self._by_worker: dict[str, dict[str, list[Site]]] = {}
        self._stronger: set[tuple[str, int]] = set()
        self._calls: dict[tuple[str, int], list[Site]] = {}
        writing = [
            site
            for site in sites
            if site.status and site.verb in (Verb.UPDATE, Verb.PATCH) and site.place.role is Role.PRODUCTION
        ]
        for site in writing:
            self._named.setdefault((site.place.path, site.place.line), frozenset(site.content.fields))
            if any(fact.rule in _STRONGER for fact in site.facts):
                self._stronger.add((site.place.path, site.place.line))
            if site.route.via:
                self._calls.setdefault((site.route.helper.path, site.route.helper.line), []).append(site)
        for site in writing:
            if site.resource.kind and not self._repeats(site):
                key = resource_key(site.resource.kind)
                self._by_kind.setdefault(key, []).append(site)
                self._by_worker.setdefault(key, {}).setdefault(site.runner.worker, []).append(site)

    def _repeats(self, site: Site) -> bool:
        """Recognise a call of a helper that names all the fields itself: the helper's own write stands for it."""
        if site.place.language != "python" or not site.content.fields:
            return False
        return any(set(site.content.fields) <= self._named.get(place, frozenset()) for place in _passed(site))

    def kinds(self) -> list[list[Site]]:
        """Return the writers of each resource, in a stable order."""
        return [sites for _, sites in sorted(self._by_kind.items())]

    def _same_kind(self, site: Site) -> list[Site]:
        return self._by_kind.get(resource_key(site.resource.kind), []) if site.resource.kind else []

    def shared(self, site: Site, other: Site) -> list[str]:
        """Return the fields that two sites write with nothing to order them."""
        if not side_by_side(site, other) or self._one_write(site, other):
            return []
        return shared_fields(site, other)

    def _one_write(self, site: Site, other: Site) -> bool:
        """Recognise a helper and its caller, or two callers of a helper that names the fields itself."""
        passed, others = _passed(site), _passed(other)
        if (other.place.path, other.place.line) in passed or (site.place.path, site.place.line) in others:
            return True
        return any(self._named.get(place, frozenset()) & set(site.content.fields) for place in passed & others)

    def calls(self, site: Site) -> list[Site]:
        """Return the calls of the helper that a write is in, where they alone say which fields it changes."""
        if site.route.via or (site.content.fields and site.content.fields != ("status",)):
            return []
        return [call for call in self._calls.get((site.place.path, site.place.line), ()) if call.content.fields]

    def stronger(self, site: Site) -> bool:
        """Decide whether the write, or the helper it goes through, has a finding that says more."""
        return not self._stronger.isdisjoint({(site.place.path, site.place.line)} | _passed(site))

    def others(self, site: Site) -> list[Site]:
        """Return the writers that share a field with a site and that nothing orders after it, one a function."""
        others: dict[tuple[str, str], Site] = {}
        for other in self._elsewhere(site):
            if len(others) >= _MOST_NAMED:
                break
            if self.shared(site, other):
                others.setdefault((other.place.path, other.place.function), other)
        return list(others.values())

    def of_other_programs(self, site: Site) -> list[Site]:
        """Return the writers that share a field with a site and that only another program of the tree contains.

        No queue orders two programs, and a predicate of one of them keeps no object from the other. Copies of one
        function are left out: variants of a program, of which one is installed.
        """
        return [
            other
            for other in self._elsewhere(site)
            if _apart(site, other)
            and not (site.place.function and site.place.function == other.place.function)
            and not (site.runner.filtered and other.runner.filtered)
            and shared_fields(site, other)
        ]

    def beside(self, site: Site) -> list[Site]:
        """Return the writers of any field of the same status that another worker of the tree runs."""
        return [
            other
            for other in self._elsewhere(site)
            if not (site.place.function and other.place.function == site.place.function)
        ]

    def _elsewhere(self, site: Site) -> list[Site]:
        """Return the writers of the same kind in other workers, at most a few of each."""
        if not site.resource.kind:
            return []
        by_worker = self._by_worker.get(resource_key(site.resource.kind), {})
        return [other for sites in by_worker.values() for other in sites[:_FEW] if not _one_queue(site, other)]

    def separated(self, site: Site) -> list[Site]:
        """Return the writers that share a field with a site in another worker, whatever keeps their objects apart."""
        return [
            other
            for other in self._elsewhere(site)
            if (other.place.path, other.place.line) != (site.place.path, site.place.line) and shared_fields(site, other)
        ]

    def locking(self, site: Site) -> list[Site]:
        """Return the writers of the same kind in other functions of the program that lock a status patch."""
        return [
            other
            for other in self._same_kind(site)[:_FEW]
            if other.lock is Lock.LOCKED
            and same_group(site, other)
            and other.verb is Verb.PATCH
            and other.patch_type is not PatchType.JSON
            and other.place.function != site.place.function
            and not _apart(site, other)
        ]

    def described(self, site: Site) -> str:
        """Say who else writes the fields of a site: all writers of the tree count, whatever keeps them apart."""
        if not site.resource.kind:
            return "its kind is not in sight, so other writers are not known"
        if not site.content.fields:
            return "so other writers of them are not known"
        if site.content.fields == ("status",) and not _sends_whole(site):
            return "which fields of it differ from the base is not in sight"
        others = self.others(site)
        if others:
            first = others[0]
            more = f" and {len(others) - 1} more" if len(others) > 1 else ""
            return f"also written by {_name(first)}{more}"
        apart = self.of_other_programs(site)
        if apart:
            return f"also written by {_name(apart[0])} in another program of the tree, {apart[0].runner.programs[0]}"
        separated = self.separated(site)
        if separated and (site.runner.filtered or separated[0].runner.filtered):
            return f"also written by {_name(separated[0])}, though predicates may keep their objects apart"
        if separated:
            return f"also written by its copy {_name(separated[0])}"
        carrying = next((other for other in self._elsewhere(site) if _carries_along(other)), None)
        if carrying is not None:
            return f"no other writer of them by name; {_name(carrying)} updates the whole status"
        return "no other writer in the tree"


def _name(site: Site) -> str:
    return f"{site.place.function or 'module'} at {site.place.path}:{site.place.line}"


def _passed(site: Site) -> set[tuple[str, int]]:
    """Return the places that a call of a helper goes through, down to the API call."""
    return {(place.path, place.line) for place in (site.route.helper, *site.route.chain)} if site.route.via else set()


def same_group(site: Site, other: Site) -> bool:
    """Report if two sites may write the same resource: two groups may have kinds of one name."""
    return not site.resource.group or not other.resource.group or site.resource.group == other.resource.group


def shared_fields(site: Site, other: Site) -> list[str]:
    """Return the status fields that two sites both write.

    A merge patch replaces `status.conditions` whole, so any two writers share it; a write that merges by type shares it
    only where both set the same type.
    """
    shared: list[str] = []
    if not same_group(site, other):
        return shared
    if _carries_along(other) and not _sends_whole(site):
        return []
    if _sends_whole(site) or _sends_whole(other):
        return [path for path in (*site.content.fields, *other.content.fields) if path.startswith("status")]
    for path in site.content.fields:
        if path not in other.content.fields or not path.startswith("status.") or "<" in path:
            continue
        merged = path == "status.conditions" and not (_replaces(site) or _replaces(other))
        told_apart = (
            site.content.conditions
            and other.content.conditions
            and not set(site.content.conditions) & set(other.content.conditions)
        )
        if merged and told_apart:
            continue
        shared.append(path)
    return shared


def _sends_whole(site: Site) -> bool:
    """Decide whether a write sends every field of the status.

    An update does. A merge patch sends what differs from its base, whatever was assigned: that a helper may have
    changed anything says that the fields are not known, and not that they are the other writer's.
    """
    return "status" in site.content.fields and not (site.verb is Verb.PATCH and site.base.origin is not BaseOrigin.BODY)


def _carries_along(site: Site) -> bool:
    """Decide whether a write sends the fields it does not change as it read them, under a version check.

    `obj.Status = computed` before an update names no field. An unlocked patch of one field takes nothing from such a
    writer: either the update is older and refused, or it was made from what the patch has stored. Counting it made an
    error of every constant that is patched beside a full update.
    """
    return site.lock is Lock.VERSIONED and site.content.fields == ("status",)


def _replaces(site: Site) -> bool:
    return site.lock in _UNORDERED and site.patch_type in (PatchType.MERGE, PatchType.UNKNOWN, None)


def side_by_side(site: Site, other: Site) -> bool:
    """Decide whether two writers can run at the same time for one object."""
    if (site.place.path, site.place.function) == (other.place.path, other.place.function):
        return False
    if _one_queue(site, other):
        return False
    if site.runner.filtered or other.runner.filtered:
        return False
    if _apart(site, other):
        return False
    # The same function in two places is a copy: variants of a program, of which one is installed.
    return not (
        site.place.function and site.place.function == other.place.function and site.place.path != other.place.path
    )


def _one_queue(site: Site, other: Site) -> bool:
    """Decide whether one worker makes both writes, one after another for one object.

    Two reconcilers in one package have a queue each. A function that both may call belongs to no one of them.
    """
    if site.runner.queues and other.runner.queues:
        return all(_in_order(one, two) for one in site.runner.queues for two in other.runner.queues)
    if not site.runner.worker or site.runner.worker != other.runner.worker:
        return False
    return not (
        site.runner.controller and other.runner.controller and site.runner.controller != other.runner.controller
    )


def _in_order(one: str, two: str) -> bool:
    """Decide whether two queues are one: a function that nothing calls may belong to any reconciler beside it."""
    directory, _, kind = one.rpartition(":")
    other_directory, _, other_kind = two.rpartition(":")
    return directory == other_directory and (kind == other_kind or not kind or not other_kind)


def _apart(site: Site, other: Site) -> bool:
    """Decide whether no program contains both sites."""
    return (
        bool(site.runner.programs)
        and bool(other.runner.programs)
        and not set(site.runner.programs) & set(other.runner.programs)
    )


def judge_together(writers: Writers, sites: Iterable[Site], policy_for: Callable[[str], Policy]) -> list[Finding]:
    """Return the findings that only show when sites are compared."""
    return [
        *_shared(writers, policy_for),
        *_lock_by_some(writers, policy_for),
        *_without_owner(list(sites), policy_for),
    ]


def _shared(writers: Writers, policy_for: Callable[[str], Policy]) -> list[Finding]:
    """Report each set of writers of one field once, at its first unordered writer."""
    findings: list[Finding] = []
    for sites in writers.kinds():
        groups: dict[tuple[Site, ...], list[str]] = {}
        for path in sorted({path for site in sites for path in site.content.fields}):
            writing = [site for site in sites if path in site.content.fields]
            together = _unordered_group(writers, writing, path)
            if together:
                groups.setdefault(together, []).append(path)
        for group, fields in groups.items():
            finding = _multi_writer(group, fields, policy_for)
            if finding is not None:
                findings.append(finding)
    return findings


def _unordered_group(writers: Writers, writing: list[Site], path: str) -> tuple[Site, ...]:
    """Return the writers of a field that race with another one, the first literal body without a lock in front.

    A diff without a lock is an error of its own, which names the other writers, so a group needs a literal body.
    """
    if len(writing) < 2 or len(writing) > _MOST_OF_A_FIELD:
        return ()
    racing: dict[tuple[str, str], Site] = {}
    for site in writing:
        if site.lock not in _UNORDERED:
            continue
        for other in writing:
            if path in writers.shared(site, other):
                racing.setdefault((site.place.path, site.place.function), site)
                racing.setdefault((other.place.path, other.place.function), other)
    literal = [
        site
        for site in racing.values()
        if site.lock in _UNORDERED
        and (site.base.origin is BaseOrigin.BODY or site.patch_type is PatchType.JSON)
        and not writers.stronger(site)
    ]
    if not literal:
        return ()
    return (literal[0], *(site for site in racing.values() if site is not literal[0]))


def _multi_writer(group: tuple[Site, ...], fields: list[str], policy_for: Callable[[str], Policy]) -> Finding | None:
    rule = RULES["multi-writer-status-field"]
    site, *others = group
    severity = policy_for(site.place.path).severity(rule.name)
    if severity is None:
        return None
    where = "; ".join(
        f"{other.place.function or 'module'} at {other.place.path}:{other.place.line}" for other in others[:3]
    )
    more = f" and {len(others) - 3} more" if len(others) > 3 else ""
    verb = "is" if len(fields) == 1 else "are"
    said = (
        f"{', '.join(fields[:3])} of {site.resource.kind} {verb} also written by {where}{more}. "
        "This write checks no version, so the order in which they land decides."
    )
    fix = "Give the field one writer, or lock both writes and recompute on conflict."
    finding = at_site(site, rule.name, severity, rule.confidence, said, fix)
    return replace(
        finding,
        related=tuple(
            Location(other.place.path, other.place.line, f"writer {other.place.function}") for other in others
        ),
    )


def _lock_by_some(writers: Writers, policy_for: Callable[[str], Policy]) -> list[Finding]:
    """Report literal bodies without a version where the kind's other writers of the same fields send one."""
    rule = RULES["lock-used-by-some-writers"]
    findings: list[Finding] = []
    for sites in writers.kinds():
        for site in sites:
            if site.lock is not Lock.UNLOCKED or site.base.origin is not BaseOrigin.BODY or not site.content.fields:
                continue
            if site.patch_type is PatchType.JSON or writers.stronger(site):
                continue
            locking = [other for other in writers.locking(site) if shared_fields(site, other)]
            severity = policy_for(site.place.path).severity(rule.name)
            if not locking or severity is None or writers.others(site):
                continue
            first = locking[0]
            said = (
                f"{site.call} writes {', '.join(shared_fields(site, first)[:3])} of {site.resource.kind} without a "
                f"version, while {first.place.function or 'module'} at {first.place.path}:{first.place.line} locks the "
                "same field."
            )
            lock = at_site(site, rule.name, severity, rule.confidence, said, "Lock this write too.")
            findings.append(replace(lock, related=(Location(first.place.path, first.place.line, "locks"),)))
    return findings


def _without_owner(sites: list[Site], policy_for: Callable[[str], Policy]) -> list[Finding]:
    """Report a create without an owner reference where another create of the kind in the same package sets one."""
    rule = RULES["create-without-owner-reference"]
    groups: dict[tuple[str, str], list[Site]] = {}
    for site in sites:
        if site.verb is Verb.CREATE and site.resource.kind and site.making.owner_reference is not None:
            groups.setdefault((site.runner.worker, site.resource.kind), []).append(site)
    findings: list[Finding] = []
    for (_, kind), creates in sorted(groups.items()):
        owned = [site for site in creates if site.making.owner_reference]
        for site in creates:
            severity = policy_for(site.place.path).severity(rule.name)
            if site.making.owner_reference or not owned or severity is None:
                continue
            sibling = owned[0]
            said = (
                f"{site.call} makes a {kind} without an owner reference, while {sibling.place.function} at "
                f"{sibling.place.path}:{sibling.place.line} sets one: this one stays behind when its owner is deleted."
            )
            finding = at_site(
                site, rule.name, severity, rule.confidence, said, "Set the owner reference before Create."
            )
            findings.append(replace(finding, related=(Location(sibling.place.path, sibling.place.line, "sibling"),)))
    return findings
