"""The value rules of OpenAPI schemas, in the server's words and order: types, ranges, lengths, patterns, compositions.

A schema is compiled once into closures, one for each JSON type that may stand at a node; a node that has nothing to say
about a type has no closure, so a valid object costs little more than the walk over it. Paths are linked tuples that
are only spelt out when something is wrong.

On an update, mistakes at a place that did not change are tolerated (*ratcheting*): only then are old values looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kontend.kube import field_errors
from kontend.kube.field_errors import FieldError, go_json, go_quote, go_value
from kontend.kube.golang.regexp import RegexpError, compile_regexp
from kontend.kube.openapi.checks import Check, Checks, Failure, Path, path_text
from kontend.kube.openapi.composition import compile_composition
from kontend.kube.schema.old_values import item_key, old_items, same_json, unchanged
from kontend.kube.schema.openapi_node import additional_schema, as_mapping
from kontend.kube.schema.string_formats import format_check
from kontend.kube.schema.tree import MISSING

_NULL: Final = type(None)
_JSON_TYPES: Final[dict[type, tuple[str, str]]] = {
    str: ("string", ""), int: ("integer", "int64"), float: ("number", "float64"), bool: ("boolean", ""),
    dict: ("object", ""), list: ("array", ""), _NULL: ("null", ""),
}  # fmt: skip
_SAFE_INTEGER: Final = float(2**53 - 1)


def value_errors(value: Any, node: Mapping[str, Any], checks: Checks, old: Any, prefix: str = "") -> list[FieldError]:
    """List the errors of ``value``; ``prefix`` is put before the paths, and ``old`` tolerates what did not change."""
    failures: list[Failure] = []
    check = checks.get(type(value))
    if check is None:
        return []
    check(value, None, failures, MISSING)
    if not failures:
        return []
    if old is not MISSING:
        failures = []
        check(value, None, failures, old)
        if failures and unchanged(value, old, node):
            return []
    unique = {failure.text: failure for failure in reversed(failures)}
    kept = [failure for failure in failures if unique.get(failure.text) is failure]
    return [_field_error(failure, prefix) for failure in kept]


def _field_error(failure: Failure, prefix: str) -> FieldError:
    name = (failure.name or "").removeprefix(".")
    field = f"{prefix}.{name}" if prefix and name else prefix or name or "<nil>"
    kind = failure.type
    if kind == field_errors.REQUIRED:
        return field_errors.required(field)
    if kind == field_errors.NOT_SUPPORTED:
        return field_errors.not_supported(field, failure.value, failure.detail)
    if kind == field_errors.TOO_LONG:
        return field_errors.too_long(field, failure.detail)
    if kind == field_errors.TOO_MANY:
        return field_errors.too_many(field, failure.value, failure.detail)
    return FieldError(kind, field, failure.text, failure.value)


def compile_checks(node: Mapping[str, Any]) -> Checks:
    """Return the checks of a schema node and of everything below it."""
    wanted = node.get("type")
    types: tuple[str, ...] = (wanted,) if isinstance(wanted, str) and wanted else ()
    if node.get("x-kubernetes-int-or-string") is True:
        types = ("integer", "string")
    name = str(node.get("format") or "")
    matches = format_check(name) if name else None
    format_name = name if matches is not None else ""
    composition = compile_composition(node, compile_checks)
    enum = _enum(node)
    checks: Checks = {}
    for kind in _JSON_TYPES:
        parts: list[Check | None] = [_type_check(kind, types, format_name, node.get("nullable") is True)]
        if kind is not _NULL:
            parts.append(composition)
        if kind is str:
            parts.append(_string(node))
            parts.append(_format(format_name, matches) if matches is not None else None)
        elif kind is int or kind is float:
            parts.append(_number(node, kind))
        elif kind is list:
            parts.append(_array(node))
        parts.append(enum)
        if kind is dict:
            parts.append(_object(node))
        checks[kind] = _chain([part for part in parts if part is not None])
    return checks


def _chain(parts: list[Check]) -> Check | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    if len(parts) == 2:
        first, second = parts

        def both(value: Any, path: Path, errors: list[Failure], old: Any) -> None:
            first(value, path, errors, old)
            second(value, path, errors, old)

        return both

    def all_of_them(value: Any, path: Path, errors: list[Failure], old: Any) -> None:
        for part in parts:
            part(value, path, errors, old)

    return all_of_them


def is_json_integer(value: float) -> bool:
    """Report whether a float is a whole number that JSON keeps exactly (within one part in a billion)."""
    if not -_SAFE_INTEGER <= value <= _SAFE_INTEGER:
        return False
    whole = float(int(value))
    if value == whole:
        return True
    if value < 0 or whole == 0:
        return False
    return abs(value - whole) / (value + whole) < 1e-9


def _type_check(kind: type, types: tuple[str, ...], format_name: str, nullable: bool) -> Check | None:
    if not types and not (format_name and kind is not _NULL):
        return None
    json_type, data_format = _JSON_TYPES[kind]
    if kind is _NULL:
        return None if nullable else _wrong_type(",".join(types), "null")
    textual = kind is str or kind is list
    numeric = "number" in types or "integer" in types
    fits = json_type in types or (kind is int and "number" in types)
    if fits or (textual and format_name and not numeric):
        return None
    # What a format rules out is reported under the format's name, unless the value could carry that format.
    wrong = _wrong_type(format_name, data_format) if format_name and not textual else None
    wrong = wrong or _wrong_type(",".join(types), json_type)
    if kind is float and "integer" in types:
        refuse = wrong

        def integral(value: Any, path: Path, errors: list[Failure], old: Any) -> None:
            if not is_json_integer(value):
                refuse(value, path, errors, old)

        return integral
    return wrong


def _wrong_type(wanted: str, actual: str) -> Check:
    def refuse(_value: Any, path: Path, errors: list[Failure], _old: Any) -> None:
        name = path_text(path)
        text = f"{name} in body must be of type {wanted}: {go_quote(actual)}"
        errors.append(Failure(text, name, field_errors.TYPE_INVALID, actual))

    return refuse


def _format(name: str, matches: Callable[[str], bool]) -> Check:
    def check(value: Any, path: Path, errors: list[Failure], _old: Any) -> None:
        if not matches(value):
            where = path_text(path)
            text = f"{where} in body must be of type {name}: {go_quote(value)}"
            errors.append(Failure(text, where, field_errors.TYPE_INVALID, value))

    return check


def _string(node: Mapping[str, Any]) -> Check | None:
    longest, shortest, pattern = node.get("maxLength"), node.get("minLength"), node.get("pattern") or ""
    if longest is None and shortest is None and not pattern:
        return None
    matches = None
    shown = pattern
    if pattern:
        try:
            matches = compile_regexp(pattern).matches
        except RegexpError as error:
            shown = f"{pattern}, but pattern is invalid: {error}"

    def check(value: Any, path: Path, errors: list[Failure], _old: Any) -> None:
        name = ""
        if longest is not None and len(value) > longest:
            name = path_text(path)
            text = f"{name} in body should be at most {longest} chars long"
            errors.append(Failure(text, name, field_errors.TOO_LONG, value, longest))
        elif shortest is not None and len(value) < shortest:
            name = path_text(path)
            errors.append(_plain(name, value, f"should be at least {shortest} chars long"))
        elif pattern and (matches is None or not matches(value)):
            name = path_text(path)
            errors.append(_plain(name, value, f"should match '{shown}'"))

    return check


def _plain(name: str, value: Any, what: str) -> Failure:
    return Failure(f"{name} in body {what}", name, field_errors.INVALID, value)


def _number(node: Mapping[str, Any], kind: type) -> Check | None:
    multiple, most, least = node.get("multipleOf"), node.get("maximum"), node.get("minimum")
    if multiple is None and most is None and least is None:
        return None
    if kind is int:
        # Limits are floats that are cut to integers where the value is one.
        multiple, most, least = (None if limit is None else int(limit) for limit in (multiple, most, least))
    below = node.get("exclusiveMaximum") is True
    above = node.get("exclusiveMinimum") is True

    def check(value: Any, path: Path, errors: list[Failure], _old: Any) -> None:
        if multiple is not None:
            if multiple <= 0:
                name = path_text(path)
                text = f"factor MultipleOf declared for {name} must be positive: {go_value(multiple)}"
                errors.append(Failure(text, name, field_errors.INVALID, multiple))
            elif not _is_multiple(value, multiple):
                name = path_text(path)
                errors.append(_plain(name, value, f"should be a multiple of {go_value(multiple)}"))
        if least is not None and (value < least or (above and value <= least)):
            words = "greater than" if above else "greater than or equal to"
            errors.append(_plain(path_text(path), value, f"should be {words} {go_value(least)}"))
        if most is not None and (value > most or (below and value >= most)):
            words = "less than" if below else "less than or equal to"
            errors.append(_plain(path_text(path), value, f"should be {words} {go_value(most)}"))

    return check


def _is_multiple(value: float, factor: float) -> bool:
    if type(value) is int:
        return bool(value % factor == 0)
    return is_json_integer(1 / factor * value if factor < 1 else value / factor)


def _enum(node: Mapping[str, Any]) -> Check | None:
    allowed = node.get("enum")
    if not isinstance(allowed, list) or not allowed:
        return None
    strings = frozenset(option for option in allowed if type(option) is str)
    shown = [option if type(option) is str else go_json(option) for option in allowed]

    def check(value: Any, path: Path, errors: list[Failure], _old: Any) -> None:
        if type(value) is str:
            if value in strings:
                return
        elif any(_converts_to(value, option) for option in allowed):
            return
        name = path_text(path)
        errors.append(
            Failure(f"{name} in body should be one of {shown}", name, field_errors.NOT_SUPPORTED, value, shown)
        )

    return check


def _converts_to(value: Any, wanted: Any) -> bool:
    """Equality after Go's conversion to the type of the wanted value (floats are cut, numbers become characters)."""
    if wanted is None or value is None:
        return False
    kind, target = type(value), type(wanted)
    if kind in (int, float) and target in (int, float):
        return bool((int(value) if target is int else float(value)) == wanted)
    if kind is int and target is str:
        return bool(0 <= value < 0x110000 and chr(value) == wanted)
    return same_json(value, wanted)


def _array(node: Mapping[str, Any]) -> Check | None:
    raw_items = node.get("items")
    items = compile_checks(raw_items) if isinstance(raw_items, Mapping) else None
    least, most, distinct = node.get("minItems"), node.get("maxItems"), node.get("uniqueItems") is True
    if items is not None and not any(items.values()):
        items = None
    if items is None and least is None and most is None and not distinct:
        return None
    item_node = as_mapping(raw_items)
    keys = list(node.get("x-kubernetes-list-map-keys") or ())

    def check(value: Any, path: Path, errors: list[Failure], old: Any) -> None:
        if items is not None:
            before = None if old is MISSING else old_items(node, old)
            for index, item in enumerate(value):
                below = items.get(type(item))
                if below is None:
                    continue
                was = MISSING if before is None else before.get(item_key(keys, item), MISSING)
                if was is MISSING:
                    below(item, (path, index), errors, MISSING)
                else:
                    _ratchet(below, item, (path, index), errors, was, item_node)
        size = len(value)
        if least is not None and size < least:
            errors.append(_plain(path_text(path), size, f"should have at least {least} items"))
        if most is not None and size > most:
            name = path_text(path)
            text = f"{name} in body should have at most {most} items"
            errors.append(Failure(text, name, field_errors.TOO_MANY, size, most))
        if distinct and any(same_json(item, other) for i, item in enumerate(value) for other in value[:i]):
            errors.append(_plain(path_text(path), "", "shouldn't contain duplicates"))

    return check


def _ratchet(check: Check, value: Any, path: Path, errors: list[Failure], old: Any, node: Mapping[str, Any]) -> None:
    """Check a value whose old value is known: where nothing changed, nothing is wrong."""
    failures: list[Failure] = []
    check(value, path, failures, old)
    if failures and not unchanged(value, old, node):
        errors.extend(failures)


def _object(node: Mapping[str, Any]) -> Check | None:
    nodes = {name: as_mapping(child) for name, child in as_mapping(node.get("properties")).items()}
    compiled = {name: compile_checks(child) for name, child in nodes.items()}
    known = {name: checks if any(checks.values()) else None for name, checks in compiled.items()}
    raw_additional = additional_schema(node)
    additional = compile_checks(raw_additional) if raw_additional is not None else None
    required = [str(name) for name in node.get("required") or ()]
    least, most = node.get("minProperties"), node.get("maxProperties")
    if not any(known.values()) and additional is None and not required and least is None and most is None:
        return None

    def check(value: Any, path: Path, errors: list[Failure], old: Any) -> None:
        if least is not None and len(value) < least:
            errors.append(_plain(path_text(path), len(value), f"should have at least {least} properties"))
        if most is not None and len(value) > most:
            name = path_text(path)
            text = f"{name} in body should have at most {most} properties"
            errors.append(Failure(text, name, field_errors.TOO_MANY, len(value), most))
        olds = old if type(old) is dict else None
        for key, child in value.items():
            if key in known:
                checks = known[key]
                where: Path = (path, key)
            else:
                checks = additional
                where = (path, key, "*")
            if checks is None:
                continue
            below = checks.get(type(child))
            if below is None:
                continue
            was = MISSING if olds is None else olds.get(key, MISSING)
            if was is MISSING or (path is None and key in ("kind", "apiVersion")):
                below(child, where, errors, MISSING)
            else:
                _ratchet(below, child, where, errors, was, nodes.get(key) or raw_additional or {})
        for key in required:
            if key not in value:
                name = f"{path_text(path)}.{key}"
                errors.append(Failure(f"{name} in body is required", name, field_errors.REQUIRED))

    return check
