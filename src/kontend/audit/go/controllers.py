"""Which kinds a package reconciles and owns, read from its builder calls: `For(&v1.Widget{})`,
`Owns(&corev1.Service{})`.

With them a site can say whether it writes an owned child, and whether it writes the status of an object that some
other controller reconciles.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from kontend.audit.go.source.package import GoFile
from kontend.audit.site import Fact, Site, Target, Verb

_FOR = re.compile(rb"\bFor\(\s*&(?:\w+\.)?(\w+)\{")
_OWNS = re.compile(rb"\bOwns\(\s*&(?:\w+\.)?(\w+)\{")


def note_controllers(files: dict[str, GoFile], sites: list[Site]) -> list[Site]:
    """Mark owned children, and status writes to kinds that only other packages reconcile."""
    reconciles: dict[str, set[str]] = {}
    owns: dict[str, set[str]] = {}
    for file in files.values():
        if b"For(" in file.source or b"Owns(" in file.source:
            reconciles.setdefault(file.directory, set()).update(name.decode() for name in _FOR.findall(file.source))
            owns.setdefault(file.directory, set()).update(name.decode() for name in _OWNS.findall(file.source))
    everywhere = {
        kind: sorted(place for place, kinds in reconciles.items() if kind in kinds)
        for kind in set().union(*reconciles.values(), set())
    }
    owned = set().union(*owns.values(), set())
    return [_noted(site, reconciles, everywhere, owned) for site in sites]


def _noted(site: Site, reconciles: dict[str, set[str]], everywhere: dict[str, list[str]], owned: set[str]) -> Site:
    own = reconciles.get(str(Path(site.path).parent), set())
    child = (site.kind in owned and site.kind not in own) or (site.verb is Verb.APPLY and not site.status)
    facts = site.facts
    others = everywhere.get(site.kind, [])
    if site.status and own and site.kind and site.kind not in own and others and Target.STATUS in site.targets:
        said = f"{site.kind} is reconciled in {others[0]}, not by the controller of {', '.join(sorted(own))} here"
        facts = (*facts, Fact("status-of-another-controller", site.line, said))
    return replace(site, owned_child=child, owner=others[0] if others else "", facts=facts)
