"""The page as a file: what it contains, and that nothing of a document becomes markup."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from kontend.report.page.contents import PropertyResult, ScenarioResult, results_of
from kontend.report.page.page import page, script_safe
from report.documents import condition, hostile, large, lost_update, never_settles

MEBIBYTE = 1024 * 1024


class Elements(HTMLParser):
    """The elements of a page, as a browser would see them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        """Note the content of a script."""
        if self.tags and self.tags[-1] == "script":
            self.scripts.append(data)


def test_no_text_of_a_document_becomes_an_element() -> None:
    good, bad = Elements(page(results_of([lost_update()]))), Elements(page(results_of([hostile()])))
    assert bad.tags == good.tags
    assert bad.tags.count("script") == 2
    assert not [name for name, _ in bad.attributes if name.startswith("on")]


def test_the_data_is_read_back_as_it_was() -> None:
    data = json.loads(Elements(page(results_of([hostile()]), title="t")).scripts[0])
    assert data["documents"][0]["violation"]["property"] == hostile().violation.property
    assert data["documents"][0]["steps"] == hostile().to_json()["steps"]


def test_several_fields_of_one_element_of_a_list_are_one_change() -> None:
    data = json.loads(Elements(page(results_of([condition()]))).scripts[0])["documents"][0]
    down = {"status": "False", "reason": "Down", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    up = {"status": "True", "reason": "Up", "lastTransitionTime": "2026-01-01T00:00:05Z"}
    for steps in (data["steps"], data["baseline"]):
        element, port = steps[-1]["writes"][0]["changes"]
        assert element == {"path": "status.conditions[type=Ready]", "before": down, "after": up}
        assert list(element["after"]) == ["status", "reason", "lastTransitionTime"]
        assert port == {"path": "status.ports[name=a].port", "before": 1, "after": 2}
    difference = data["violation"]["difference"]
    assert [(each["path"], each["got"], each["expected"]) for each in difference] == [(element["path"], down, up)]


def test_the_fields_of_an_element_keep_their_history() -> None:
    data = json.loads(Elements(page(results_of([condition()]))).scripts[0])["documents"][0]
    assert data["steps"] != condition().to_json()["steps"]
    for step in data["steps"]:
        for write in step["writes"]:
            write.pop("changes", None)
    assert data["steps"] == condition().to_json()["steps"]


@pytest.mark.parametrize("text", ["</script>", "<!--", "]]>", "&lt;", "\u2028", "\u2029"])
def test_no_character_of_the_data_can_end_its_element(text: str) -> None:
    safe = script_safe(json.dumps({text: text}, ensure_ascii=False).encode())
    assert not re.search("[<>&\u2028\u2029]", safe)
    assert json.loads(safe) == {text: text}


def test_the_page_asks_for_nothing_from_outside() -> None:
    html = page(results_of([lost_update()]))
    policy = next(
        value for name, value in Elements(html).attributes if name == "content" and "default-src" in (value or "")
    )
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "connect-src" not in policy
    assert not re.search(r"(src|href)=\"(?!data:)", html)


def test_equal_reports_have_equal_bytes() -> None:
    assert page(results_of([lost_update()])) == page(results_of([lost_update()]))
    assert page(results_of([large(1200, 50)])) == page(results_of([large(1200, 50)]))


def test_a_page_for_2000_steps_over_500_objects_is_under_5_mb() -> None:
    assert len(page(results_of([large(2000, 500)])).encode()) < 5 * MEBIBYTE


def test_readers_without_javascript_see_the_verdict_and_the_fix() -> None:
    html = page([*results_of([lost_update()]), ScenarioResult("locked", "holds", "holds in all 15 states")])
    static = html.partition('<script type="application/json"')[0]
    assert "ports#2 wrote data.next = 8001 from resourceVersion 2" in static
    assert "merge_from(base, lock=True)" in static
    assert "holds in all 15 states" in static


def test_documents_are_grouped_by_scenario() -> None:
    results = results_of([lost_update(), never_settles(), lost_update()])
    assert [(result.name, len(result.documents)) for result in results] == [("blind", 2), ("fight", 1)]
    assert results[0].exploration == lost_update().exploration


def test_every_script_is_part_of_the_page() -> None:
    html = page([])
    for script in (files("kontend.report.page") / "assets").iterdir():
        if script.name.endswith(".js"):
            assert script.read_text(encoding="utf-8") in html, script.name


def test_a_report_without_violations_has_a_page() -> None:
    result = ScenarioResult("locked", "holds", properties=(PropertyResult("lost update", "holds"),))
    assert "<title>ports.py</title>" in page([result], title="ports.py")
