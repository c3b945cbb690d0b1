"""Expressions and rules against what cel-go answers in the Kubernetes environment of 1.35, recorded in answers.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kontend.kube.cel.cost.estimate import expression_cost
from kontend.kube.cel.expression import compile_expression
from kontend.kube.cel.issues import CompileError, ProgramError
from kontend.kube.cel.library.conversions import to_string
from kontend.kube.cel.library.network import CidrValue, IpValue
from kontend.kube.cel.schema_types import declare
from kontend.kube.cel.values import Duration, EvalError, Optional, Timestamp, TypeValue, UInt

GROUPS = json.loads((Path(__file__).parent / "answers.json").read_text())
CASES = [
    pytest.param(group, source, answer, id=source) for group in GROUPS for source, answer in group["answers"].items()
]


def written(value: Any) -> str:
    """A value as cel-go writes it as a literal."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, UInt):
        return f"{int(value)}u"
    if isinstance(value, float):
        special = {"NaN": 'double("NaN")', "+Inf": 'double("Infinity")', "-Inf": 'double("-Infinity")'}
        text = to_string(value)
        return special.get(text) or (text if set(text) & set(".e") else f"{text}.0")
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bytes):
        return 'b"' + "".join(f"\\{byte:03o}" for byte in value) + '"'
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{written(key)}: {written(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, (Timestamp, Duration)):
        return f'{type(value).__name__.lower()}("{value}")'
    if isinstance(value, Optional):
        return f"optional.of({written(value.value)})" if value.present else "optional.none()"
    if isinstance(value, TypeValue):
        return value.name
    assert isinstance(value, (IpValue, CidrValue, int))
    return str(value)


@pytest.mark.parametrize(("group", "source", "answer"), CASES)
def test_an_expression_means_what_it_means_to_the_server(
    group: dict[str, Any], source: str, answer: dict[str, Any]
) -> None:
    """The result, the error while it runs, or the error that keeps it from running; and what it may cost."""
    declaration = declare(group["schema"], resource=False)
    assert declaration is not None
    got: dict[str, Any] = {}
    try:
        expression = compile_expression(source, declaration)
        got["cost"] = expression_cost(expression, declaration)
        got["result"] = written(expression.evaluate(group["self"], group["oldSelf"]))
    except CompileError as error:
        got["compile"] = str(error)
    except ProgramError as error:
        got["program"] = str(error)
    except EvalError as error:
        got["error"] = str(error)
    if "program" in answer:
        answer = {"program": answer["program"]}
    assert got == answer
