"""The ``format`` of strings in custom resources: which formats the server checks, and how.

An unknown format is ignored (so are ``int32`` and ``double``: numbers are not checked by format). Names are compared
without dashes, so ``date-time`` and ``datetime`` are one.
"""

from __future__ import annotations

import base64
import binascii
import functools
import ipaddress
import re
import unicodedata
from collections.abc import Callable
from typing import Final

from kontend.kube.golang.strconv import whole_number
from kontend.kube.golang.time import DAY, HOUR, MINUTE, SECOND, is_date, parse_duration
from kontend.kube.golang.url import UrlError, parse_request_uri

_CLOCK: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))", re.ASCII)
_UUID: Final = "[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}"
_CREDIT_CARD: Final = (
    r"(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})"
)
_COLOR: Final = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_SHORT_NAME: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DURATION_PART: Final = re.compile(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)")
#: Unit names of the lenient duration syntax; the last of each row is a prefix (``milli`` takes ``milliseconds``).
_DURATION_UNITS: Final = (
    (1, ("ns", "nano")), (1_000, ("us", "µs", "micro")), (1_000_000, ("ms", "milli")), (SECOND, ("s", "sec")),
    (MINUTE, ("m", "min")), (HOUR, ("h", "hr", "hour")), (DAY, ("d", "day")), (7 * DAY, ("w", "wk", "week")),
)  # fmt: skip


def _matches(pattern: str, flags: re.RegexFlag = re.ASCII) -> Callable[[str], bool]:
    # Compiled on first use: most servers never see most formats, and start faster without them.
    @functools.cache
    def compiled() -> re.Pattern[str]:
        return re.compile(pattern, flags)

    return lambda text: compiled().fullmatch(text) is not None


def parse_lenient_duration(text: str) -> int:
    """Nanoseconds of ``22 ns``, ``1 day`` or any duration that Go reads."""
    try:
        return parse_duration(text)
    except ValueError:
        total, matched = 0, False
        for amount, word in _DURATION_PART.findall(text):
            unit = word.lower()
            for multiplier, names in _DURATION_UNITS:
                for name in names:
                    if unit == name or (name is names[-1] and unit.startswith(name)):
                        total, matched = total + whole_number(amount) * multiplier, True
        if not matched:
            raise ValueError(f"unable to parse {text} as duration") from None
        return total


def parse_byte(text: str) -> bytes:
    """Return the bytes of a ``byte`` string, as CEL sees them (the URL alphabet; ``ValueError`` for anything else)."""
    try:
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(str(error)) from None


def _is_duration(text: str) -> bool:
    try:
        parse_lenient_duration(text)
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    if len(text) < 4:
        return False
    parts = text.lower().split("t")
    if len(parts) < 2 or not is_date(parts[0]):
        return False
    clock = _CLOCK.fullmatch(parts[1])
    return clock is not None and clock[1] <= "23" and clock[2] <= "59" and clock[3] <= "59"


def is_ipv4(text: str) -> bool:
    """Report whether Go's lenient parser reads it as an address with dots (leading zeros are tolerated)."""
    return "." in text and _parse_ip_sloppy(text) is not None


def is_ipv6(text: str) -> bool:
    """Report whether it is an address with colons."""
    return ":" in text and "%" not in text and _parse_ip_sloppy(text, strict=True) is not None


def is_cidr(text: str) -> bool:
    """Report whether it is an address, a slash and a prefix length."""
    address, slash, prefix = text.partition("/")
    parsed = _parse_ip_sloppy(address)
    if not slash or parsed is None or not prefix.isdecimal() or not prefix.isascii():
        return False
    return whole_number(prefix) <= (32 if ":" not in address else 128)


def _parse_ip_sloppy(text: str, *, strict: bool = False) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    if "%" in text:
        return None
    if not strict and "." in text:
        head, dotted = text.rpartition(":")[::2] if ":" in text else ("", text)
        parts = dotted.split(".")
        if not all(part.isdecimal() and part.isascii() for part in parts):
            return None
        dotted = ".".join(part.lstrip("0") or "0" for part in parts)
        text = f"{head}:{dotted}" if ":" in text else dotted
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _is_mac(text: str) -> bool:
    for separator, width in ((":", 2), ("-", 2), (".", 4)):
        groups = text.split(separator)
        if len(groups) > 1:
            sizes = {6, 8, 20} if width == 2 else {3, 4, 10}
            return len(groups) in sizes and all(re.fullmatch(f"[0-9A-Fa-f]{{{width}}}", group) for group in groups)
    return False


def _is_uri(text: str) -> bool:
    try:
        parse_request_uri(text)
    except UrlError:
        return False
    return True


_ATOM: Final = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~\u0080-\U0010ffff]+"
_ADDRESS: Final = rf'(?:{_ATOM}(?:\.{_ATOM})*|"(?:[^"\\\r\n]|\\.)*")@(?:{_ATOM}(?:\.{_ATOM})*|\[[^\[\]\\]+\])'
_is_address = _matches(
    rf'[ \t]*(?:{_ADDRESS}|(?:(?:{_ATOM}|"(?:[^"\\\r\n]|\\.)*")(?:[ \t.]+|$|(?=<)))*<[ \t]*{_ADDRESS}[ \t]*>)[ \t]*'
)


def _is_host_char(char: str) -> bool:
    return (char.isascii() and char.isalnum()) or unicodedata.category(char)[0] in "LS"


def _is_hostname(text: str) -> bool:
    if len(text.encode()) > 255 or any(len(part.encode()) > 63 for part in text.split(".")):
        return False
    labels = text.split(".")
    if len(labels) == 1:
        label = labels[0]
        if not label or not _is_host_char(label[0]):
            return False
        rest = label[1:].removeprefix("-")
        return len(rest) <= 62 and (rest != "" or label[1:] in ("", "-")) and all(map(_is_host_char, rest))
    for label in labels[:-1]:
        inner = label[1:-1]
        if not label or not _is_host_char(label[0]) or not _is_host_char(label[-1]):
            return False
        if not all(char == "-" or _is_host_char(char) for char in inner):
            return False
    top = labels[-1]
    return 2 <= len(top) <= 63 and all(unicodedata.category(char)[0] == "L" for char in top)


def _is_credit_card(text: str) -> bool:
    digits = re.sub("[^0-9]+", "", text)
    if not re.fullmatch(_CREDIT_CARD, digits):
        return False
    total = 0
    for index, digit in enumerate(reversed(digits)):
        doubled = int(digit) * (2 if index % 2 else 1)
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\t\n\f\r -]+", "", text)
    if not re.fullmatch("[0-9]{9}[0-9X]", digits):
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum((index + 1) * value for index, value in enumerate(values)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\t\n\f\r -]+", "", text)
    if not re.fullmatch("[0-9]{13}", digits):
        return False
    total = sum(int(digit) * (3 if index % 2 else 1) for index, digit in enumerate(digits[:12]))
    return int(digits[12]) == (10 - total % 10) % 10


_CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "bsonobjectid": _matches("[0-9a-fA-F]{24}"),
    "uri": _is_uri,
    "email": _is_address,
    "hostname": _is_hostname,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "cidr": is_cidr,
    "mac": _is_mac,
    "uuid": _matches(_UUID % ("[0-9a-f]", "[0-9a-f]"), re.IGNORECASE | re.ASCII),
    "uuid3": _matches(_UUID % ("3", "[0-9a-f]"), re.IGNORECASE | re.ASCII),
    "uuid4": _matches(_UUID % ("4", "[89ab]"), re.IGNORECASE | re.ASCII),
    "uuid5": _matches(_UUID % ("5", "[89ab]"), re.IGNORECASE | re.ASCII),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": lambda text: len(text) == 11 and re.fullmatch("[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}", text) is not None,
    "hexcolor": _matches("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _matches(rf"rgb\({_COLOR},{_COLOR},{_COLOR}\)"),
    "byte": _matches("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda _: True,
    "date": is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
    "k8sshortname": lambda text: len(text) <= 63 and re.fullmatch(_SHORT_NAME, text) is not None,
    "k8slongname": lambda text: (
        len(text) <= 253 and re.fullmatch(rf"{_SHORT_NAME}(\.{_SHORT_NAME})*", text) is not None
    ),
}


def format_check(name: str) -> Callable[[str], bool] | None:
    """Return the check of a format, or nothing when the server does not know the format.

    >>> check = format_check("date-time"); check and check("2024-02-30T00:00:00Z")
    False
    """
    return _CHECKS.get(name.replace("-", ""))
