"""The end of a container's command is computed without running it, or is not known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kontend.controllers.nodes.shell import Files, Life, NotUnderstood, Shell

ONCE = """
    if [[ -r /data/foo ]]
    then
        exit 0
    else
        touch /data/foo
        exit 42
    fi
"""


def _run(*command: str, files: Files | None = None, **environment: str) -> Life:
    return Shell(Files() if files is None else files, environment, 0.0, lambda path: path).run(command)


@pytest.mark.parametrize(
    ("script", "code", "seconds"),
    [
        ("exit 3", 3, 0),
        ("sleep 5; exit 300", 44, 5),
        ("sleep infinity", None, 0),
        ("while true; do sleep 1; done", None, 1),
        ("true || exit 1; false && exit 2; exit 5", 5, 0),
        ("sleep 2 && false || sleep 3", 0, 5),
        ("if true; then if false; then exit 1; else exit 7; fi; fi", 7, 0),
        ("if false; then exit 1; elif [ 2 -gt 1 ]; then exit 2; else exit 3; fi", 2, 0),
        ("exit $(expr 7 % 4)", 3, 0),
        ("exit $(( $NUMBER / 2 ))", 10, 0),
        ('[ "$TEXT" = "a b" ]', 0, 0),
        ("[ '$TEXT' = 'a b' ]", 1, 0),
        ("echo ok >/tmp/health; sleep 10; rm -rf /tmp/health; cat /tmp/health", 1, 10),
        ("n=$(echo one >> /tmp/f; wc -l /tmp/f | awk {'print $1'}); exit $n", 1, 0),
        ("x=3; y=$(exit 9); exit $x", 3, 0),
        ("echo a b | awk '{print $2}' > /f; [ \"$(cat /f)\" = b ]", 0, 0),
        ("# nothing\n\n", 0, 0),
    ],
)
def test_a_script_ends_as_in_a_shell(script: str, code: int | None, seconds: float) -> None:
    """With the code of its last command, and after all that it has slept."""
    life = _run("/bin/sh", "-c", script, NUMBER="21", TEXT="a b")
    assert (life.code, life.seconds) == (code, seconds)


def test_a_command_needs_no_shell() -> None:
    """The program is known by the last part of its path."""
    assert _run("/bin/false") == Life(1, 0)
    assert _run("sleep", "30") == Life(0, 30)


def test_a_script_finds_the_file_of_its_first_run() -> None:
    """Files outlive a run."""
    files = Files()
    assert [_run("sh", "-c", ONCE, files=files).code for _ in range(3)] == [42, 0, 0]


def test_output_is_kept_and_redirected() -> None:
    """Into a file, if the script says so."""
    files = Files()
    assert _run("sh", "-c", "echo a > /f; cat /f; echo -n b", files=files).output == "a\nb"
    assert files.read("/f", 0) == "a\n"


@pytest.mark.parametrize(
    "script",
    [
        "curl http://other", "id | grep 0", "exit x", "while true; do :; done", "while read x; do sleep 1; done",
        "for x in a b; do exit 1; done", "(exit 1)", "exit 1 &", "sleep 1 | sleep 2", "x=1 exit 2", "sleep 1d",
        "expr 1 / 0", "case a in a) exit 1;; esac", "trap 'exit 3' TERM; sleep 1", "echo `date`",
        "set -e; false; sleep 9",
    ],
)  # fmt: skip
def test_what_is_not_understood_is_not_guessed(script: str) -> None:
    """Such a container runs on, as all did before."""
    with pytest.raises(NotUnderstood):
        _run("sh", "-c", script)


def test_scripts_that_are_too_long_or_too_deep_are_not_understood() -> None:
    """Neither takes the server down."""
    for script in ("true;" * 1000, "if true\nthen " * 300, "$(" * 2000, "'" * 4095):
        with pytest.raises(NotUnderstood):
            _run("sh", "-c", script)


@given(st.text(alphabet="aif;|&>$(){}[]'\"\\ \n1-", max_size=40))
def test_any_text_ends_or_is_not_understood(script: str) -> None:
    """Nothing else comes out."""
    try:
        life = _run("sh", "-c", script)
    except NotUnderstood:
        return
    assert life.code is None or 0 <= life.code < 256
