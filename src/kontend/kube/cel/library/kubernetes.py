"""Kubernetes' extensions of CEL: quantities, semantic versions and named formats (see also ``network``)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from kontend.kube.cel.library.functions import FUNCTIONS, compare, register
from kontend.kube.cel.library.network import need
from kontend.kube.cel.values import NONE, EvalError, NoOverload, Optional
from kontend.kube.field_errors import go_quote
from kontend.kube.golang.strconv import whole_number
from kontend.kube.golang.url import UrlError, parse_request_uri
from kontend.kube.meta import name_rules
from kontend.kube.quantity import Quantity, QuantityError
from kontend.kube.quantity import parse as parse_quantity
from kontend.kube.schema.string_formats import format_check


@dataclass(frozen=True, slots=True)
class Semver:
    """A semantic version."""

    CEL_TYPE: ClassVar[str] = "kubernetes.Semver"
    numbers: tuple[int, int, int]
    prerelease: tuple[tuple[int, int, str], ...]

    def order(self) -> tuple[Any, ...]:
        """Return the sort key of a version: a release comes after its own pre-releases."""
        return (self.numbers, not self.prerelease, self.prerelease)


_SEMVER: Final = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?", re.ASCII
)


def _semver(text: str) -> Semver:
    match = _SEMVER.fullmatch(text)
    if match is None or any(part == "" for group in match.groups()[3:] if group for part in group.split(".")):
        raise EvalError(_semver_complaint(text))
    parts = []
    for part in (match[4] or "").split("."):
        if part.isdigit():
            if len(part) > 1 and part.startswith("0"):
                raise EvalError(f"Numeric PreRelease version must not contain leading zeroes {go_quote(part)}")
            parts.append((0, _semver_number(part), ""))
        elif part:
            parts.append((1, 0, part))
    return Semver((_semver_number(match[1]), _semver_number(match[2]), _semver_number(match[3])), tuple(parts))


def _semver_number(text: str) -> int:
    number = whole_number(text)
    if number >= 2**64:
        raise EvalError(f"strconv.ParseUint: parsing {go_quote(text)}: value out of range")
    return number


def _semver_complaint(text: str) -> str:
    if not text:
        return "Version string empty"
    parts = text.split(".", 2)
    if len(parts) != 3:
        return "No Major.Minor.Patch elements found"
    for name, part in zip(("major", "minor", "patch"), (*parts[:2], re.split("[-+]", parts[2])[0]), strict=True):
        if not part.isdigit():
            shown = f"Invalid character(s) found in {name} number {go_quote(part)}"
            return shown if part else 'strconv.ParseUint: parsing "": invalid syntax'
        if len(part) > 1 and part.startswith("0"):
            return f"{name.capitalize()} number must not contain leading zeroes {go_quote(part)}"
    return "Prerelease is empty" if "-" in parts[2].partition("+")[0] else "Build meta data is empty"


def _normalized(text: str) -> str:
    text = text.strip().removeprefix("v")
    parts = text.split(".", 2)
    parts = [part.lstrip("0") or "0" if part.isdigit() else _without_zeros(part) for part in parts]
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise EvalError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _without_zeros(part: str) -> str:
    stripped = part.lstrip("0")
    return stripped if stripped and stripped[0].isdigit() else ("0" + stripped if part.startswith("0") else part)


@register("semver")
def semver(text: Any, normalize: bool = False) -> Semver:
    """Return a semantic version from a text."""
    need(str, text)
    return _semver(_normalized(text) if normalize else text)


@register("isSemver")
def is_semver(text: Any, normalize: bool = False) -> bool:
    """Report whether a text is a semantic version."""
    try:
        semver(text, normalize)
    except EvalError as error:
        if isinstance(error, NoOverload):
            raise
        return False
    return True


for _position, _name in enumerate(("major", "minor", "patch")):
    FUNCTIONS[_name] = lambda value, position=_position: value.numbers[position]


@dataclass(frozen=True, slots=True)
class QuantityValue:
    """A quantity."""

    CEL_TYPE: ClassVar[str] = "kubernetes.Quantity"
    quantity: Quantity


@register("quantity")
def quantity(text: Any) -> QuantityValue:
    """Return a quantity from a text."""
    need(str, text)
    try:
        return QuantityValue(parse_quantity(text))
    except QuantityError as error:
        raise EvalError(str(error)) from None


@register("isQuantity")
def is_quantity(text: Any) -> bool:
    """Report whether a text is a quantity."""
    need(str, text)
    try:
        parse_quantity(text)
    except QuantityError:
        return False
    return True


@register("compareTo")
def compare_to(left: Any, right: Any) -> int:
    """Return the order of two quantities or two versions."""
    if isinstance(left, QuantityValue) and isinstance(right, QuantityValue):
        return (left.quantity.amount > right.quantity.amount) - (left.quantity.amount < right.quantity.amount)
    if isinstance(left, Semver) and isinstance(right, Semver):
        mine, other = left.order(), right.order()
        return (mine > other) - (mine < other)
    raise NoOverload


FUNCTIONS["isGreaterThan"] = lambda left, right: compare_to(left, right) == 1
FUNCTIONS["isLessThan"] = lambda left, right: compare_to(left, right) == -1


def _whole(value: Any) -> int | None:
    need(QuantityValue, value)
    amount = value.quantity.amount
    return int(amount) if amount.copy_abs() < 2**63 and amount == amount.to_integral_value() else None


@register("asInteger")
def as_integer(value: Any) -> int:
    """Return a quantity that is a whole number."""
    whole = _whole(value)
    if whole is None:
        raise EvalError("cannot convert value to integer")
    return whole


FUNCTIONS["isInteger"] = lambda value: _whole(value) is not None
FUNCTIONS["asApproximateFloat"] = lambda value: float(value.quantity.amount)
FUNCTIONS["sign"] = lambda value: compare(float(value.quantity.amount), 0.0)


def _other_quantity(value: Any) -> Quantity:
    return parse_quantity(str(value)) if type(value) is int else value.quantity


FUNCTIONS["add"] = lambda left, right: QuantityValue(left.quantity + _other_quantity(right))
FUNCTIONS["sub"] = lambda left, right: QuantityValue(left.quantity - _other_quantity(right))


# Named formats.


@dataclass(frozen=True, slots=True)
class FormatValue:
    """A named format."""

    CEL_TYPE: ClassVar[str] = "kubernetes.NamedFormat"
    name: str


def _checked_by(name: str, complaint: str) -> Callable[[str], list[str]]:
    check = format_check(name)
    assert check is not None
    return lambda text: [] if check(text) else [complaint]


def _uri_complaints(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except UrlError as error:
        return [str(error)]
    return []


def _prefix(rule: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """A prefix of a generated name may end with a dash, because more will follow."""
    return lambda text: rule(name_rules.without_trailing_dash(text))


_FORMATS: Final[dict[str, Callable[[str], list[str]]]] = {
    "dns1123Label": name_rules.dns1123_label,
    "dns1123Subdomain": name_rules.dns1123_subdomain,
    "dns1035Label": name_rules.dns1035_label,
    "qualifiedName": name_rules.qualified_name,
    "dns1123LabelPrefix": _prefix(name_rules.dns1123_label),
    "dns1123SubdomainPrefix": _prefix(name_rules.dns1123_subdomain),
    "dns1035LabelPrefix": _prefix(name_rules.dns1035_label),
    "labelValue": name_rules.label_value,
    "uri": _uri_complaints,
    "uuid": _checked_by("uuid", "does not match the UUID format"),
    "byte": _checked_by("byte", "invalid base64"),
    "date": _checked_by("date", "invalid date"),
    "datetime": _checked_by("datetime", "invalid datetime"),
}
for _name in _FORMATS:
    FUNCTIONS[f"format.{_name}"] = lambda name=_name: FormatValue(name)
FUNCTIONS["format.named"] = lambda name: Optional(FormatValue(name)) if name in _FORMATS else NONE


@register("validate")
def validate(form: Any, text: Any) -> Optional:
    """Return the errors of a text, or nothing."""
    need(FormatValue, form)
    need(str, text)
    complaints = _FORMATS[form.name](text)
    return Optional(complaints) if complaints else NONE
