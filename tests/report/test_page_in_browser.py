"""The page in headless Chromium, opened from disk: keyboard, fields, comparison, themes, phones, hostile data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from kontend.report.document import Difference, FieldChange, Fix, Line, Write, hash_of
from kontend.report.page.contents import PropertyResult, ScenarioResult, results_of
from kontend.report.page.page import page
from report.browser import View
from report.documents import condition, faults, hostile, large, lost_update, never_settles
from report.sweeps import swept, timed

Open = Callable[..., View]

#: Measures the contrast of all texts. WCAG AA asks for 4.5.
_CONTRASTS: Final = Path(__file__).with_name("contrasts.js").read_text(encoding="utf-8")
#: Tables that reach beyond what is visible of them.
_CUT: Final = """[...document.querySelectorAll('.scroll')]
  .filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map((e) => e.innerText.slice(0, 80))"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with two violations and a scenario that holds."""
    holds = ScenarioResult(
        "locked",
        "holds",
        "holds in all 15 states",
        properties=(PropertyResult("lost update", "holds"), PropertyResult("reached", "untested")),
        exploration=lost_update().exploration,
    )
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(page([*results_of([lost_update(), never_settles()]), holds], title="ports.py"), encoding="utf-8")
    return file


def test_the_page_opens_from_disk_with_the_verdict_the_cause_and_the_fix(view: Open, report: Path) -> None:
    shown = view().open(report)
    assert "2 violations" in shown.text("header")
    assert "ports#2 wrote data.next = 8001 from resourceVersion 2" in shown.text("#sentence")
    assert "merge_from(base, lock=True)" in shown.text(".fix")
    assert "examples/ports.py:31" in shown.text(".fix")
    assert '"8001" instead of "8002"' in shown.text(".fault")


def test_arrow_keys_move_through_the_steps_and_the_step_is_in_the_url(view: Open, report: Path) -> None:
    shown = view().open(report)
    assert "Step 9 · ports#2" in shown.text(".details")  # the step at fault
    shown.press("Home", "ArrowDown")
    shown.wait("location.hash === '#/v1/trace/2'")
    assert "Step 2" in shown.text(".details")
    assert shown.page.locator('[aria-selected="true"].row').get_attribute("data-step") == "2"
    shown.press("ArrowUp")
    shown.wait("location.hash === '#/v1/trace/1'")
    shown.press("c")
    shown.wait("location.hash === '#/v1/trace/6'")
    shown.press("c")
    shown.wait("location.hash === '#/v1/trace/9'")
    assert "at fault" in shown.text(".details")
    shown.press("Home")
    shown.wait("location.hash === '#/v1/trace/1'")


def test_the_page_opens_at_the_first_violation(view: Open, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    results = [ScenarioResult("locked", "holds"), *results_of([never_settles()])]
    file.write_text(page(results), encoding="utf-8")
    assert "never settles" in view().open(file).text("main h2")
    file.write_text(page([ScenarioResult("locked", "undecided", "the limit was reached")]), encoding="utf-8")
    shown = view().open(file)
    assert "undecided" in shown.text("header")
    assert "the limit was reached" in shown.text("main")


def test_a_link_to_a_step_opens_that_step(view: Open, report: Path) -> None:
    shown = view().open(report, "#/v2/trace/8")
    assert "never settles" in shown.text("main h2")
    assert "Step 8 · ports#2" in shown.text(".details")


@pytest.mark.parametrize("route", ["#/v9/trace/3", "#/v1/nothing", "#/v1/trace/999", "#/%E0%A4%A/x", "#"])
def test_a_link_that_leads_nowhere_shows_the_first_violation(view: Open, report: Path, route: str) -> None:
    assert "lost update" in view().open(report, route).text("main h2")


def test_a_step_shows_what_it_read_and_wrote_its_source_and_the_caches(view: Open, report: Path) -> None:
    shown = view().open(report, "#/v1/trace/8")
    assert "3 (stale)" in shown.text(".details")
    shown = view().open(report, "#/v1/trace/6")
    details = shown.text(".details")
    assert "examples/ports.py:31, in reconcile" in details
    assert 'next: "8000"' in details
    assert 'next: "8001"' in details
    assert shown.page.locator(".diff .removed", has_text="8000").count() == 1
    assert shown.page.locator(".diff .added", has_text="8001").count() == 1
    assert "1 behind" in details


def test_the_diagram_has_a_lane_for_each_actor_and_marks_the_culprits(view: Open, report: Path) -> None:
    shown = view().open(report)
    heading = shown.page.locator(".lanes").text_content()
    for name in ("ports#1", "ports#2", "cache", "server", "user"):
        assert name in heading
    marked = shown.page.locator(".row.culprit").evaluate_all("rows => rows.map((row) => row.dataset.step)")
    assert marked == ["6", "9"]
    # Marked by a sign too, not only by colour.
    assert all("◆" in text for text in shown.page.locator(".row.culprit .number").all_inner_texts())
    # An event starts where the version was written, above the row in which it arrives.
    slopes = shown.page.locator(".picture line.arrow.event").evaluate_all(
        "lines => lines.map((l) => l.y2.baseVal.value - l.y1.baseVal.value)"
    )
    assert slopes
    assert all(slope > 0 for slope in slopes)


def test_steps_that_change_nothing_are_folded_until_they_are_asked_for(view: Open, report: Path) -> None:
    shown = view().open(report)
    assert "6 steps that change nothing" in shown.text(".row.fold")
    shown.press("End", "Enter")
    shown.wait("document.querySelectorAll('.row').length === 17")
    shown.press("f", "f")
    shown.wait("document.querySelectorAll('.row.fold').length === 1")
    assert "Step 15" in view().open(report, "#/v1/trace/15").text(".details")


def test_a_field_leads_to_its_writers_and_a_writer_to_its_step(view: Open, report: Path) -> None:
    shown = view().open(report, "#/v1/trace/9")
    shown.page.click(".details table button.link")
    shown.wait("document.querySelector('#chain')")
    assert "field=data.next" in shown.route
    chain = shown.page.locator("#chain li").all_inner_texts()
    assert "At the start" in chain[0]
    assert "The writer had version 2, from step 5: the latest one." in chain[1]
    assert "The writer had version 2, from step 8, and wrote over version 3" in chain[2]
    shown.page.click("#chain button >> text=Step 6")
    shown.wait("location.hash === '#/v1/trace/6'")


def test_the_writers_of_any_field_are_found_by_keyboard_alone(view: Open, report: Path) -> None:
    shown = view().open(report).press("2")
    shown.page.focus("#field-path")
    shown.page.keyboard.type("data.owner")
    shown.press("Enter")
    shown.wait("document.querySelector('#chain')")
    assert '"nobody" → "team-a" as version 2' in shown.text("#chain")
    shown = view().open(report, "#/v1/trace/6").press("w")
    shown.wait("location.hash.includes('field=data.next')")


def test_the_failing_trace_stands_beside_the_good_one(view: Open, report: Path) -> None:
    shown = view().open(report).press("3")
    shown.wait("location.hash.startsWith('#/v1/compare')")
    first = shown.text("#first-difference")
    assert "after step 6 the good run takes “ports#2 sees ConfigMap/v1 default/c at resourceVersion 3”" in first
    assert shown.page.locator(".pair .first").count() == 2
    row = shown.page.locator(".pair > .culprit").last
    assert "9 ◆ ports#2: patch" in row.inner_text()
    assert row.evaluate("cell => cell.nextElementSibling.innerText").startswith("10 ports#2: patch")
    shown.page.click(".pair .culprit button")
    shown.wait("location.hash === '#/v1/trace/6'")


def test_the_search_is_described_and_plotted(view: Open, report: Path) -> None:
    shown = view().open(report).press("4")
    shown.wait("document.querySelectorAll('figure').length === 3")
    text = shown.text("main")
    assert "184 states, 611 steps" in text
    assert "lag ≤ 1, 2 instances" in text
    assert shown.page.locator("figure .bar:not(.reconcile)").count() == 9
    assert shown.page.locator("circle.state").count() == 1
    assert shown.page.locator("path.state.only").count() == 2
    assert 'data.owner: "nobody" instead of "team-a"' in text


def test_a_scenario_that_holds_has_its_entry(view: Open, report: Path) -> None:
    shown = view().open(report).press("p")
    shown.wait("location.hash.startsWith('#/s3')")
    assert "holds in all 15 states" in shown.text("main")
    assert "never exercised" in shown.text("nav")


def test_a_cycle_is_marked(view: Open, report: Path) -> None:
    shown = view().open(report, "#/v2/trace")
    assert "From step 6 to step 15 the run repeats forever" in shown.text(".fault")
    assert shown.page.locator(".row.cycle").count() == 10


@pytest.mark.parametrize(("scheme", "other"), [("light", "dark"), ("dark", "light")])
def test_the_theme_follows_the_system_and_can_be_changed(view: Open, report: Path, scheme: str, other: str) -> None:
    shown = view(scheme=scheme).open(report)
    theme = "document.documentElement.dataset.theme"
    assert shown.page.evaluate(theme) == scheme
    shown.press("t")
    assert shown.page.evaluate(theme) == other
    shown.page.reload()
    shown.page.wait_for_selector("html[data-ready]")
    assert shown.page.evaluate(theme) == other
    shown.page.click("#theme")
    assert shown.page.evaluate(theme) == scheme


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("route", ["#/v1/trace/9", "#/v1/fields", "#/v1/compare", "#/v1/explored", "#/v2/trace/7"])
def test_every_text_has_enough_contrast(view: Open, report: Path, scheme: str, route: str) -> None:
    worst = view(scheme=scheme).open(report, route).page.evaluate(_CONTRASTS)
    assert [entry for entry in worst if entry[0] < 4.5] == []


@pytest.mark.parametrize("route", ["#/v1/trace/9", "#/v1/fields", "#/v1/compare", "#/v1/explored"])
def test_a_phone_shows_everything_without_scrolling_sideways(view: Open, report: Path, route: str) -> None:
    shown = view(width=390, height=844).open(report, route)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 390
    if "trace" in route:
        # The text of the steps is beside the lanes, not beyond the edge.
        box = shown.page.locator(".row .text").first.bounding_box()
        assert box["x"] + 100 < 390


def test_every_control_can_be_reached_with_tab_and_named(view: Open, report: Path) -> None:
    shown = view().open(report, "#/v1/trace/9")
    seen = set()
    for _ in range(40):
        shown.press("Tab")
        seen.add(
            shown.page.evaluate(
                "document.activeElement.id || document.activeElement.className || document.activeElement.tagName"
            )
        )
    assert {
        "theme",
        "keys",
        "tab-trace",
        "tab-fields",
        "tab-compare",
        "tab-explored",
        "show-all",
        "rows",
        "details",
    } <= seen
    unnamed = "[...document.querySelectorAll('button, input, select')]"
    unnamed += ".filter((e) => !(e.innerText || e.ariaLabel || e.labels?.length)).length"
    assert shown.page.evaluate(unnamed) == 0


def test_the_keys_are_listed(view: Open, report: Path) -> None:
    shown = view().open(report).press("?")
    assert "next step at fault" in shown.text("#help")
    shown.press("Escape", "Home")
    shown.wait("location.hash === '#/v1/trace/1'")


def test_faults_and_timers_are_drawn_and_a_crash_puts_the_cache_behind(view: Open, tmp_path: Path) -> None:
    file = tmp_path / "faults.html"
    file.write_text(page(results_of([faults()])), encoding="utf-8")
    shown = view().open(file)
    # The lost response, the crash and the request that timed out.
    assert shown.page.locator(".picture path.arrow.culprit").count() == 3
    assert shown.page.locator(".picture line.arrow.refused").count() == 3
    # The write, then the delivery, then the older list: behind, up to date, behind again.
    assert shown.page.locator(".picture .count").all_text_contents()[:2] == ["1", "1"]
    details = view().open(file, "#/v1/trace/5").text(".details")
    assert "1 (1 behind)" in " ".join(details.split())
    shown.press("3")
    shown.wait("document.querySelector('figure')")
    assert "Reconciles and cache lag over virtual time" in shown.text("figure")
    assert "virtual time, 0.75 s to 9.75 s" in shown.page.locator("figure").text_content()


def test_a_log_without_caches_has_no_lanes_for_them(view: Open, tmp_path: Path) -> None:
    steps = tuple(step for step in lost_update().steps if step.writes)
    file = tmp_path / "log.html"
    document = replace(lost_update(), steps=steps, baseline=None)
    file.write_text(page(results_of([document])), encoding="utf-8")
    assert "cache" not in view().open(file).page.locator(".lanes").text_content()


def test_hostile_objects_stay_text(view: Open, tmp_path: Path) -> None:
    file = tmp_path / "hostile.html"
    file.write_text(page(results_of([hostile()]), title="</title><script>window.hacked=1</script>"), encoding="utf-8")
    shown = view().open(file).press("c", "w", "4", "1")
    shown.wait("location.hash.startsWith('#/v1/trace')")
    assert shown.page.evaluate("window.hacked") is None
    assert "</script><script>window.hacked=1</script>" in shown.text("#sentence")


def test_a_long_trace_opens_and_moves(view: Open, tmp_path: Path) -> None:
    file = tmp_path / "large.html"
    file.write_text(page(results_of([large(2000, 500)])), encoding="utf-8")
    shown = view().open(file)
    assert shown.page.locator(".row").count() < 20
    shown.press("f")
    assert shown.page.locator(".row").count() == 2000
    shown.press("End")
    shown.wait("location.hash === '#/v1/trace/2000'")
    assert "All objects after this step (500)" in shown.text(".details")


def test_a_long_trace_opens_with_the_steps_that_matter(view: Open, tmp_path: Path) -> None:
    file = tmp_path / "long.html"
    file.write_text(page(results_of([large(200, 20)])), encoding="utf-8")
    shown = view().open(file)
    rows = shown.page.locator(".row[data-step]")
    numbers = [int(str(rows.nth(at).get_attribute("data-step"))) for at in range(rows.count())]
    assert {3, 199} < set(numbers)
    assert len(numbers) < 40
    assert "34 other steps (5–38)" in shown.text(".rows")
    assert "show all 200 steps" in shown.text(".toolbar")


def test_a_strip_shows_all_steps_of_a_long_trace_and_a_click_goes_there(view: Open, tmp_path: Path) -> None:
    file = tmp_path / "long.html"
    file.write_text(page(results_of([large(200, 20)])), encoding="utf-8")
    shown = view().open(file)
    assert shown.page.locator(".tick").count() == 200
    assert shown.page.locator(".tick.culprit").count() == 2
    box = shown.page.locator(".overview").bounding_box()
    shown.page.mouse.click(box["x"] + box["width"] * 99.5 / 200, box["y"] + 5)
    shown.wait("location.hash === '#/v1/trace/100'")
    assert "Step 100" in shown.text(".details")


def test_on_a_phone_the_steps_are_a_list_and_the_diagram_comes_on_demand(view: Open, report: Path) -> None:
    shown = view(width=390, height=844).open(report)
    assert shown.page.locator(".picture").count() == 0
    assert "ports#2 patch ConfigMap default/c" in " ".join(shown.text('.row[data-step="9"]').split())
    shown.page.click("#picture")
    assert shown.page.locator(".picture").count() == 1


def test_an_actor_that_does_nothing_has_no_lane(view: Open, tmp_path: Path) -> None:
    document = lost_update()
    steps = tuple(step for step in document.steps if step.actor != "user")
    file = tmp_path / "idle.html"
    file.write_text(page(results_of([replace(document, steps=steps)])), encoding="utf-8")
    shown = view().open(file)
    assert "ports#1" in shown.text(".lanes")
    assert "user" not in shown.text(".lanes")


# Virtual time


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with a sweep, with runs in virtual time, and with runs that all come to rest."""
    calm = ScenarioResult("calm", "settles", "2 of 2 runs come to rest", runs=timed().runs[:1])
    file = tmp_path_factory.mktemp("timed") / "sweeps.html"
    file.write_text(page([swept(), timed(), calm], title="flux.py"), encoding="utf-8")
    return file


def test_a_sweep_shows_which_values_livelock_and_which_heal(view: Open, sweeps: Path) -> None:
    shown = view().open(sweeps)
    assert "✘ violated" in shown.text("header")
    assert "time bands of lag" in shown.text("nav")
    assert shown.page.locator("figure g.value").count() == 7
    # A column has a part for each end that some of its runs have.
    assert shown.page.locator("rect.end.livelocks").count() == 3 + 1
    assert shown.page.locator("rect.end.fails").count() == 1 + 1
    assert shown.page.locator("rect.band.bad").count() == 3
    assert shown.page.locator("rect.band.good").count() == 3
    assert shown.page.locator("g.value path.culprit").count() == 1
    rows = [" ".join(row.split()) for row in shown.page.locator(".bands tbody tr").all_inner_texts()]
    assert rows[2] == "1 to 1.5 s ✘ livelocks never"
    assert rows[3] == "2 s ✔ heals 16.25 s"
    assert "lag 1.5 s: livelocks (5 livelocks)" in shown.page.locator("g.value title").nth(3).text_content()


def test_a_band_leads_to_a_run_with_the_reconciles_that_repeat(view: Open, sweeps: Path) -> None:
    shown = view().open(sweeps)
    shown.page.click("summary:has-text('lag 1 s, seed 7')")
    text = shown.text("main")
    assert "This reconcile repeats forever:" in text
    assert "violates ready at 12.25 s" in text
    assert "default/<b>s</b>/status" in text  # text, not markup
    assert "version 412" in text


def test_runs_in_virtual_time_are_listed(view: Open, sweeps: Path) -> None:
    shown = view().open(sweeps, "#/s2/time")
    assert "Seed 7: livelocks" in shown.text("main")
    assert shown.page.locator("tbody tr").first.inner_text().split() == ["0", "✔", "settles", "2.5", "s", "4", "0", "3"]


def test_runs_that_come_to_rest_are_no_proof(view: Open, tmp_path: Path) -> None:
    file = tmp_path / "calm.html"
    calm = ScenarioResult("calm", "settles", "2 of 2 runs come to rest", runs=timed().runs[:1])
    file.write_text(page([calm]), encoding="utf-8")
    header = view().open(file).text("header")
    assert "every run comes to rest" in header
    assert "holds" not in header


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_time_bands_are_readable_everywhere(view: Open, sweeps: Path, scheme: str, width: int) -> None:
    shown = view(scheme=scheme, width=width).open(sweeps)
    shown.page.click("summary:has-text('All 7 values')")
    shown.page.click("summary:has-text('lag 1 s, seed 7')")
    assert [entry for entry in shown.page.evaluate(_CONTRASTS) if entry[0] < 4.5] == []
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.page.evaluate(_CUT) == []
    assert shown.page.evaluate("document.querySelector('figure svg').getBoundingClientRect().width") <= width


def test_plots_keep_the_size_of_their_text_on_a_phone(view: Open, report: Path) -> None:
    shown = view(width=390, height=844).open(report, "#/v1/explored")
    scale = "(e) => e.getBoundingClientRect().width / e.viewBox.baseVal.width"
    scales = shown.page.evaluate(f"[...document.querySelectorAll('figure svg')].map({scale})")
    assert scales
    assert all(scale > 0.99 for scale in scales)


@pytest.mark.parametrize("route", ["#/v1/trace/9", "#/v1/compare", "#/v1/explored", "#/v2/trace/7"])
def test_no_table_is_wider_than_a_phone(view: Open, report: Path, route: str) -> None:
    assert view(width=390, height=844).open(report, route).page.evaluate(_CUT) == []


def test_quiescent_states_are_listed_with_their_numbers_and_differences(view: Open, report: Path) -> None:
    shown = view().open(report, "#/v1/explored")
    rows = [" ".join(row.split()) for row in shown.page.locator("table.cards tbody tr").all_inner_texts()]
    expected = lost_update().exploration
    assert expected is not None
    assert len(rows) == len(expected.final_states)
    for row, state in zip(rows, expected.final_states, strict=True):
        assert f"{state.count} quiescent state" in row
        assert ("○ unperturbed" in row) == state.unperturbed
        assert all(difference.path in row for difference in state.difference if difference.path)
    titles = shown.page.locator("figure .bar:not(.reconcile) title").all_text_contents()
    assert [int(title.split(": ")[1].split()[0].replace(",", "")) for title in titles] == list(expected.depths)


# Long and recorded


@pytest.mark.parametrize("route", ["#/v1/trace/9", "#/v1/fields", "#/v1/compare", "#/v1/explored"])
@pytest.mark.parametrize("width", [390, 1280])
def test_long_words_do_not_reach_beyond_the_page(view: Open, tmp_path: Path, width: int, route: str) -> None:
    document = lost_update()
    word = "x" * 400
    violation = replace(
        document.violation,
        sentence=f'{word} wrote {{"{word}":"{word}"}}',
        fix=Fix(word, Line(f"{word}.py", 1, word)),
        perturbations=(word,),
        also=(word,),
        difference=(Difference(f"Widget/v1 default/{word}", word, word, word),),
    )
    file = tmp_path / "long.html"
    named = replace(document, violation=violation, source=replace(document.source, scenario=word))
    file.write_text(page(results_of([named]), title=word), encoding="utf-8")
    shown = view(width=width).open(file, route)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_recorded_log_is_not_said_to_be_explored(view: Open, tmp_path: Path) -> None:
    document = never_settles()
    recorded = replace(document, violation=replace(document.violation, how="recorded"), exploration=None)
    file = tmp_path / "recorded.html"
    file.write_text(page(results_of([recorded])), encoding="utf-8")
    shown = view().open(file)
    assert "the same writes come round again" in shown.text(".fault")
    assert "forever" not in shown.text(".fault")
    shown.page.click("#tab-explored")
    assert "nothing was explored" in shown.text("main")


def test_the_writers_of_a_whole_list_show_the_list(view: Open, tmp_path: Path) -> None:
    """A field that has parts is shown as it is stored, not as a map of its leaves."""
    document = lost_update()
    subnets: list[Any] = [[{"cidr": "10.0.0.0/24"}], [{"cidr": "10.0.0.0/24", "id": "a"}]]
    versions = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "l"}, "spec": {"subnets": subnet}}
        for subnet in subnets
    ]
    before, after = (hash_of(version) for version in versions)
    name = "ConfigMap/v1 default/l"
    write = Write(name, 9, before, after, (FieldChange("spec.subnets", *subnets),))
    steps = (*document.steps[:-1], replace(document.steps[-1], writes=(write,)))
    objects = {**document.objects, before: versions[0], after: versions[1]}
    changed = replace(document, steps=steps, objects=objects, initial={**document.initial, name: before})
    file = tmp_path / "list.html"
    file.write_text(page(results_of([changed])), encoding="utf-8")
    route = "#/v1/fields?object=ConfigMap%2Fv1+default%2Fl&field=spec.subnets"
    assert '[{"cidr":"10.0.0.0/24"}] → [{"cidr":"10.0.0.0/24","id":"a"}]' in view().open(file, route).text("#chain")


def test_several_fields_of_one_element_of_a_list_are_one_line(view: Open, tmp_path: Path) -> None:
    file = tmp_path / "condition.html"
    file.write_text(page(results_of([condition()])), encoding="utf-8")
    last = condition().steps[-1].number
    shown = view().open(file, f"#/v1/trace/{last}")
    details = shown.text(".details")
    assert details.count("status.conditions[type=Ready]") == 1
    assert '{"status":"True","reason":"Up","lastTransitionTime":"2026-01-01T00:00:05Z"}' in details
    assert shown.text(".fault").count("status.conditions[type=Ready]") == 1
    shown.page.click(".details button.link.code >> nth=0")
    assert '{"type":"Ready","status":"True"' in shown.text("#chain")
