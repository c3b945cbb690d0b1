"""Unicode classes of Go's regular expressions (``\\p{Letter}``), written with the names that RE2 knows.

Since Go 1.25 a name is looked up without regard to case, underscores, spaces and hyphens, among the general categories,
their long names and the scripts. Scripts whose names have an underscore are thereby not found, in Go as here.
"""

from __future__ import annotations

import sys
import unicodedata
from functools import lru_cache
from itertools import groupby
from typing import Final

import re2

_CATEGORIES: Final = {
    major + minor
    for major, minors in {
        "C": "cfos",
        "L": "lmotu",
        "M": "cen",
        "N": "dlo",
        "P": "cdefios",
        "S": "ckmo",
        "Z": "lps",
    }.items()
    for minor in ("", *minors)
}
_LONG_NAMES: Final = {
    "Casedletter": "Lc", "Closepunctuation": "Pe", "Cntrl": "Cc", "Combiningmark": "M", "Connectorpunctuation": "Pc",
    "Control": "Cc", "Currencysymbol": "Sc", "Dashpunctuation": "Pd", "Decimalnumber": "Nd", "Digit": "Nd",
    "Enclosingmark": "Me", "Finalpunctuation": "Pf", "Format": "Cf", "Initialpunctuation": "Pi", "Letter": "L",
    "Letternumber": "Nl", "Lineseparator": "Zl", "Lowercaseletter": "Ll", "Mark": "M", "Mathsymbol": "Sm",
    "Modifierletter": "Lm", "Modifiersymbol": "Sk", "Nonspacingmark": "Mn", "Number": "N", "Openpunctuation": "Ps",
    "Other": "C", "Otherletter": "Lo", "Othernumber": "No", "Otherpunctuation": "Po", "Othersymbol": "So",
    "Paragraphseparator": "Zp", "Privateuse": "Co", "Punct": "P", "Punctuation": "P", "Separator": "Z",
    "Spaceseparator": "Zs", "Spacingmark": "Mc", "Surrogate": "Cs", "Symbol": "S", "Titlecaseletter": "Lt",
    "Unassigned": "Cn", "Uppercaseletter": "Lu",
}  # fmt: skip
#: Scripts that RE2 has from a later version of Unicode than Go.
_LATER_SCRIPTS: Final = frozenset({"Garay", "Sidetic", "Sunuwar", "Todhri"})


@lru_cache(maxsize=256)
def class_members(name: str, *, negated: bool) -> str | None:
    """Return the inside of an RE2 class for a Unicode class of Go, or None where Go knows no such class.

    >>> class_members("letter", negated=False), class_members("Greek", negated=True)
    ('\\\\pL', '\\\\P{Greek}')
    """
    name = name.replace("_", "").replace("-", "").replace(" ", "").capitalize() if name.isascii() else ""
    name = _LONG_NAMES.get(name, name)
    sign = "P" if negated else "p"
    if name == "Any":
        return f"\\{sign}{{Any}}"
    if name == "Ascii":
        return "\\x{80}-\\x{10ffff}" if negated else "\\x00-\\x7f"
    if name == "Lc":
        return _ranges(frozenset(("Lu", "Ll", "Lt")), negated) if negated else "\\p{Lu}\\p{Ll}\\p{Lt}"
    if name in ("Cn", "Assigned"):
        return _ranges(frozenset(("Cn",)), negated == (name == "Cn"))
    if name in _CATEGORIES:
        return f"\\{sign}{name}" if len(name) == 1 else f"\\{sign}{{{name}}}"
    return f"\\{sign}{{{name}}}" if len(name) > 1 and name not in _LATER_SCRIPTS and _is_script(name) else None


def _is_script(name: str) -> bool:
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(f"\\p{{{name}}}", options)
    except re2.error:
        return False
    return True


@lru_cache(maxsize=4)
def _ranges(categories: frozenset[str], negated: bool) -> str:
    """Spell out the characters that are, or are not, of some categories."""
    out = []
    codes = enumerate(map(unicodedata.category, map(chr, range(sys.maxunicode + 1))))
    for inside, members in groupby(codes, lambda item: (item[1] in categories) != negated):
        if inside:
            first = last = next(members)[0]
            for last, _ in members:  # noqa: B007 - the last one is wanted
                pass
            out.append(f"\\x{{{first:x}}}-\\x{{{last:x}}}")
    return "".join(out)
