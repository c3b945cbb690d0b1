"""Go's regular expressions."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.golang.regexp import RegexpError, compile_regexp


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^a$", "a\n", False),
        ("(?m)^b$", "a\nb", True),
        (r"x(?i)b", "xB", True),
        (r"x(?i)b", "Xb", False),
        ("(?i)a|b", "B", True),
        (r"\d", "٣", False),
        (r"\pL", "é", True),
        (r"\p{Greek}", "α", True),
        (r"^\PL$", "é", False),
        ("^[[:alpha:]_]+$", "ab_", True),
        (r"^[^\s]+$", "a b", False),
        (r"\Qa.b\E", "axb", False),
        (r"a\z", "a\n", False),
        ("[]a]", "]", True),
        (r"\x41\x{42}", "AB", True),
        ("a{,2}", "a{,2}", True),
        ("(?U)a+", "aa", True),
        ("(?P<n>a)(?:b)", "ab", True),
        ("(?<n>a)(?P<n>b)", "ab", True),
        (r"\p{upper case_letter}", "A", True),
        (r"^\P{LC}$", "a", False),
        (r"^[\P{LC}x]$", "1", True),
        (r"\p{Assigned}", "\U000e0080", False),
        (r"\p{ASCII}", "é", False),
        ("a(?)b{", "ab{", True),
        (r"\Qa.b", "xa.b", True),
        (r"^[\x{41}-\x{5a}]$", "Q", True),
    ],
)  # fmt: skip
def test_a_pattern_means_what_it_means_in_go(pattern: str, text: str, matches: bool) -> None:
    assert compile_regexp(pattern).matches(text) is matches


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        (r"\y", r"invalid escape sequence: `\y`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        (r"\p{Old_Italic}", r"invalid character class range: `\p{Old_Italic}`"),
        (r"\p{Garay}", r"invalid character class range: `\p{Garay}`"),
        ("(?P<a-b>x)", "invalid named capture: `(?P<a-b>`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        ("(?i", "invalid or unsupported Perl syntax: `(?i`"),
        ("[a-\\d]", r"invalid escape sequence: `\d`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
        ("(a{30}){34}", "invalid repeat count: `{34}`"),
        ("((a{1000}){1000}){1000}", "invalid repeat count: `{1000}`"),
        ("a{99999999999999999999}", "invalid repeat count: `{99999999999999999999}`"),
        ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("(" * 1000 + ")" * 1000, f"expression nests too deeply: `{'(' * 1000 + ')' * 1000}`"),
        ("(" * 5000 + ")" * 5000, f"expression nests too deeply: `{'(' * 5000 + ')' * 5000}`"),
        (r"\pL" * 1001, "expression too large: `" + r"\pL" * 1001 + "`"),
        ("a?" * 10001, f"expression too large: `{'a?' * 10001}`"),
        (r"(?:\pL{100}){10}", r"expression too large: `(?:\pL{100}){10}`"),
    ],
)  # fmt: skip
def test_what_go_does_not_compile_is_refused_in_its_words(pattern: str, complaint: str) -> None:
    with pytest.raises(RegexpError) as refused:
        compile_regexp(pattern)
    assert str(refused.value) == f"error parsing regexp: {complaint}"


@given(st.text(alphabet="ab^$.*+?()[]{}|\\dwsQEpPL:-,01i<>=!", max_size=12))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_any_text_compiles_or_is_refused(pattern: str) -> None:
    said = ""
    try:
        compile_regexp(pattern).matches("ab01")
    except RegexpError as error:
        said = str(error)
    assert said == "" or said.startswith("error parsing regexp: ")


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("a*", "baaac", ["", "aaa", ""]),
        ("é?", "éabé", ["é", "", "é"]),
        ("^a", "aa", ["a"]),
        ("b|^", "ab", ["", "b"]),
        ("x", "", []),
    ],
)
def test_all_matches_are_those_of_go(pattern: str, text: str, matches: list[str]) -> None:
    assert compile_regexp(pattern).find_all(text) == matches


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(a+)+$", "a" * 100_000 + "!"),
        (r"^(\w+\s?)*$", "a" * 100_000 + "!"),
        ("a*b", "a" * 1_000_000),
        ("(.*)(.*)(.*)(.*)(.*)x", "a" * 1_000_000),
        ("(a?){1000}a{1000}x", "a" * 5_000),
        (r"[\PL\P{Nd}\P{Greek}]" * 20, "a" * 1000),
    ],
)
def test_matching_takes_time_in_proportion_to_the_text(pattern: str, text: str) -> None:
    started = time.process_time()
    compile_regexp.__wrapped__(pattern).matches(text)
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    "pattern", ["()" * 32_000, "(a|bc)*" * 9_000, "(?i)" + r"[\x{41}-\x{1e943}]" * 3_500, "(?i)" + r"\pL" * 1000]
)
def test_compiling_takes_bounded_time(pattern: str) -> None:
    started = time.process_time()
    with contextlib.suppress(RegexpError):
        compile_regexp.__wrapped__(pattern)
    assert time.process_time() - started < 5
