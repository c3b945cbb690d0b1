"""Go's regular expressions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kontend.kube.golang.regexp import RegexpError, compile_regexp


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
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
    ],
)  # fmt: skip
def test_a_pattern_means_what_it_means_in_go(pattern: str, text: str, found: bool) -> None:
    assert bool(compile_regexp(pattern).search(text)) is found


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
        compile_regexp(pattern).search("ab01")
    except RegexpError as error:
        said = str(error)
    assert said == "" or said.startswith("error parsing regexp: ")
