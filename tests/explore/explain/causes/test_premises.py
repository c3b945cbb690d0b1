"""Explanations of writes that go wrong although nothing that was read has changed since, and of fights with oneself."""

from __future__ import annotations

import contextlib
import copy
from typing import Any, ClassVar

from explore.widgets import CRD, KIND, UNGUARDED, WIDGET, Stamps
from kontend import predicates
from kontend.cluster.cluster import Cluster
from kontend.explore import Bounds, Scenario, always, check, create, delete, eventually, update
from kontend.explore.explain.explanation import explained, origin_of
from kontend.kube.errors import AlreadyExists, ApiError
from kontend.report.document import Explanation
from kontend.runtime.client.api import Api
from kontend.runtime.client.patches import merge_from
from kontend.runtime.controller import Controller, Request

SIZED = {**WIDGET, "spec": {"size": 1}}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "m"}}


def _of(*controllers: Controller, objects: Any = (SIZED,), lag: int = 0, **more: Any) -> Scenario:
    bounds = more.pop("bounds", Bounds(faults=0, lag=lag))
    return Scenario(list(controllers), crds=[CRD], objects=objects, bounds=bounds, guards=UNGUARDED, **more)


def _explained(scenario: Scenario, name: str) -> Explanation:
    violation = next(violation for violation in check(scenario).violations if violation.property == name)
    return explained(scenario, violation, origin_of(scenario), strict=True).violation


def _fix(violation: Explanation) -> tuple[str, str]:
    assert violation.fix is not None
    assert violation.fix.line is not None
    return violation.fix.text, violation.fix.line.text.strip()


class Mixes(Controller):
    """Reports the size that it read first with the generation that it read last."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Report."""
        size = (await api.get(self.kind, request))["spec"]["size"]
        widget = await api.get(self.kind, request)
        if (widget.get("status") or {}).get("for") == widget["spec"]["size"]:
            return
        base = copy.deepcopy(widget)
        widget["status"] = {"size": size, "for": widget["spec"]["size"]}
        await api.status.patch(widget, merge_from(base, lock=True))


def consistent(cluster: Cluster) -> bool:
    status = cluster.get(KIND, "w").get("status") or {}
    return status.get("size") == status.get("for")


def test_two_reads_of_one_object_that_differ_are_named_with_the_change_between_them() -> None:
    violation = _explained(
        _of(Mixes(), lag=1, actions=[update(SIZED, spec={"size": 2})], properties=[always(consistent)]), "consistent"
    )
    assert "it had read Widget default/w twice, at resourceVersion 3 in step" in violation.sentence
    assert "user had changed spec.size of Widget default/w from 1 to 2" in violation.sentence
    text, line = _fix(violation)
    assert text.startswith("read Widget default/w once in a reconcile: pass on what was read at test_premises.py:")
    assert line == "widget = await api.get(self.kind, request)"
    assert len(violation.culprits) == 2


class Early(Controller):
    """Reports a widget as ready as soon as the status of another one says so, whose spec it has just changed."""

    kind = KIND
    name = "early"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Report."""
        if request.name != "w":
            return
        widget, other = await api.live.get(self.kind, request), await api.live.get(self.kind, "default/other")
        if other["spec"]["size"] != widget["spec"]["size"]:
            other["spec"]["size"] = widget["spec"]["size"]
            await api.update(other)
        ready = (other.get("status") or {}).get("ready")
        if ready and (widget.get("status") or {}).get("ready") != widget["spec"]["size"]:
            widget["status"] = {"ready": widget["spec"]["size"]}
            await api.status.update(widget)


OTHER = {**SIZED, "metadata": {"namespace": "default", "name": "other"}, "status": {"ready": True, "size": 1}}


def ready_in_time(cluster: Cluster) -> bool:
    ready = (cluster.get(KIND, "w").get("status") or {}).get("ready")
    return ready in (None, cluster.get(KIND, "other")["status"]["size"])


def test_a_status_of_an_earlier_spec_is_named_with_the_change_of_the_spec() -> None:
    violation = _explained(
        _of(
            Early(),
            objects=(SIZED, OTHER),
            actions=[update(SIZED, spec={"size": 2})],
            properties=[always(ready_in_time)],
        ),
        "ready_in_time",
    )
    assert "the status of Widget default/other that it had read in step" in violation.sentence
    assert "is about an earlier spec; early had changed spec.size of Widget default/other" in violation.sentence
    text, line = _fix(violation)
    assert "status.observedGeneration of Widget default/other" in text
    assert line == "await api.status.update(widget)"


class Steps(Controller):
    """Counts up in a ConfigMap, then records the count in the status, and counts down when the record says so."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Count."""
        widget = await api.live.get(self.kind, request)
        config = await api.live.get("ConfigMap/v1", "default/m")
        recorded = (widget.get("status") or {}).get("count", "0")
        if recorded == "1":
            return
        if config["data"]["count"] != recorded:
            config["data"]["count"] = recorded
            await api.update(config)
        config["data"]["count"] = "1"
        await api.update(config)
        base = copy.deepcopy(widget)
        widget["status"] = {"count": "1"}
        await api.status.patch(widget, merge_from(base, lock=True))


def grows(before: Cluster, after: Cluster) -> bool:
    old, new = (cluster.get("ConfigMap/v1", "m")["data"]["count"] for cluster in (before, after))
    return bool(old <= new)


def test_a_reconcile_that_stopped_between_two_writes_is_named_with_the_write_that_it_made() -> None:
    counted = {**CONFIG, "data": {"count": "0"}}
    bounds = Bounds(lag=0, faults=1, failed=1, crashes=0, lost=0)
    violation = _explained(_of(Steps(), objects=(SIZED, counted), bounds=bounds, properties=[always(grows)]), "grows")
    assert "its reconcile before had changed data.count of ConfigMap default/m" in violation.sentence
    assert "and then stopped in step" in violation.sentence
    text, line = _fix(violation)
    assert text.startswith("record what is going to be done before it is done")
    assert line == "await api.update(config)"
    assert len(violation.culprits) == 2


class Validates(Steps):
    """Raises an error of its own before it records the count."""

    name = "steps"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Count, and find that the size is wrong."""
        size = (await api.live.get(self.kind, request))["spec"]["size"]
        config = await api.live.get("ConfigMap/v1", "default/m")
        config["data"]["count"] = "1" if config["data"]["count"] == "0" else "0"
        await api.update(config)
        raise ValueError(f"{size} is a wrong size")


def test_an_error_after_a_write_that_succeeded_is_not_that_of_the_write() -> None:
    counted = {**CONFIG, "data": {"count": "0"}}
    violation = _explained(_of(Validates(), objects=(SIZED, counted), properties=[always(grows)]), "grows")
    assert "had changed data.count of ConfigMap default/m" in violation.sentence
    assert "and then raised ValueError after step " in violation.sentence


class Drops(Controller):
    """Drops the error of its first patch."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Patch twice."""
        widget = await api.live.get(self.kind, request)
        for name in ("observed", "ready"):
            base = copy.deepcopy(widget)
            widget["status"] = {**(widget.get("status") or {}), name: True}
            with contextlib.suppress(ApiError):
                await api.status.patch(widget, merge_from(base))


def observed_first(cluster: Cluster) -> bool:
    status = cluster.get(KIND, "w").get("status") or {}
    return bool(not status.get("ready") or status.get("observed"))


def test_an_error_that_is_dropped_is_named_with_the_write_that_follows() -> None:
    bounds = Bounds(lag=0, faults=1, failed=1, crashes=0, lost=0)
    violation = _explained(_of(Drops(), bounds=bounds, properties=[always(observed_first)]), "observed_first")
    assert "in the same reconcile failed in step 3, and the reconcile went on" in violation.sentence
    assert violation.culprits == (3, 4)
    assert _fix(violation)[0].startswith("let the error end the reconcile")


class Adopts(Controller):
    """Goes on with whatever has the name."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Create and report."""
        widget = await api.live.get(self.kind, request)
        with contextlib.suppress(AlreadyExists):
            await api.create({**CONFIG, "data": {"of": "w"}})
        widget["status"] = {"running": True}
        await api.status.update(widget)


def runs_on_its_own(cluster: Cluster) -> bool:
    status = cluster.get(KIND, "w").get("status") or {}
    return not status.get("running") or cluster.get("ConfigMap/v1", "m").get("data") == {"of": "w"}


def test_an_object_of_somebody_else_that_is_taken_over_is_named_with_its_creator() -> None:
    foreign = {**CONFIG, "data": {"of": "somebody"}}
    violation = _explained(
        _of(Adopts(), actions=[create(foreign)], properties=[always(runs_on_its_own)]), "runs_on_its_own"
    )
    assert "was refused with 409 AlreadyExists in step" in violation.sentence
    assert "; user had created ConfigMap default/m (step" in violation.sentence
    assert "is_controlled_by" in _fix(violation)[0]


class Asks(Controller):
    """Reports the size that it has asked another widget to have."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Ask and report."""
        if request.name != "w":
            return
        widget = await api.live.get(self.kind, request)
        size = widget["spec"]["size"]
        if (widget.get("status") or {}).get("size") == size:
            return
        await api.patch({**OTHER, "spec": {"size": size}}, merge_from(OTHER))
        widget["status"] = {"size": size}
        await api.status.update(widget)


def reported_in_time(cluster: Cluster) -> bool:
    reported = (cluster.get(KIND, "w").get("status") or {}).get("size")
    return reported in (None, cluster.get(KIND, "other")["status"]["size"])


def test_a_report_of_what_was_only_asked_for_is_named_with_the_request() -> None:
    wanted = {**SIZED, "spec": {"size": 2}}
    violation = _explained(
        _of(Asks(), objects=(wanted, OTHER), properties=[always(reported_in_time)]), "reported_in_time"
    )
    assert "it reports what it has only asked for; it changed spec.size of Widget default/other" in violation.sentence
    text, line = _fix(violation)
    assert text.startswith("write this only when the status of Widget default/other says so")
    assert line == "await api.status.update(widget)"
    assert len(violation.culprits) == 2


class Shrinks(Controller):
    """Writes a size that is too small."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Write."""
        widget = await api.live.get(self.kind, request)
        if widget["spec"]["size"] == 2:
            widget["status"] = {"size": 0}
            await api.status.update(widget)


def test_a_write_without_a_pattern_is_named_with_the_change_and_the_reads_that_it_is_decided_by() -> None:
    def large(cluster: Cluster) -> bool:
        return bool((cluster.get(KIND, "w").get("status") or {}).get("size", 1) > 0)

    violation = _explained(
        _of(Shrinks(), actions=[update(SIZED, spec={"size": 2})], properties=[always(large)]), "large"
    )
    assert "which violates large; user had changed spec.size of Widget default/w from 1 to 2" in violation.sentence
    assert "it is decided by what was read at test_premises.py:" in _fix(violation)[0]
    assert len(violation.culprits) == 2


class Forgets(Controller):
    """Removes the mark of its work before the work is done."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Forget."""
        widget = await api.live.get(self.kind, request)
        if widget["spec"].pop("size", None):
            await api.update(widget)


def test_an_end_that_is_wrong_without_perturbations_names_the_last_write_and_the_reconcile_after_it() -> None:
    def done(cluster: Cluster) -> bool:
        return "done" in (cluster.get(KIND, "w").get("status") or {})

    violation = _explained(_of(Forgets(), properties=[eventually(done)]), "done")
    assert "the last write is that of step 3: forgets changed spec.size of Widget default/w" in violation.sentence
    assert "; forgets ran once more, until step" in violation.sentence
    text, line = _fix(violation)
    assert text.startswith("let the reconcile notice that something is left to do")
    assert line == "widget = await api.live.get(self.kind, request)"


class Votes(Controller):
    """Copies the size of each widget to one ConfigMap."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Copy."""
        size = str((await api.live.get(self.kind, request))["spec"]["size"])
        config = await api.live.get("ConfigMap/v1", "default/m")
        config["data"] = {"size": size}
        await api.update(config)


def test_two_writes_whose_order_decides_are_both_named() -> None:
    def large(cluster: Cluster) -> bool:
        return (cluster.get("ConfigMap/v1", "m").get("data") or {}).get("size") == "2"

    two = {**SIZED, "metadata": {"namespace": "default", "name": "x"}, "spec": {"size": 2}}
    violation = _explained(_of(Votes(), objects=(SIZED, two, CONFIG), properties=[eventually(large)]), "large")
    assert (
        'votes for default/w wrote it in step 8 over "2", which votes for default/x had written' in violation.sentence
    )
    assert "the good run makes the two writes in the other order" in violation.sentence
    assert violation.culprits == (4, 8)
    text, line = _fix(violation)
    assert "not from default/w alone" in text
    assert line == "await api.update(config)"


class Twice(Controller):
    """Patches its status twice, with a lock, from one copy."""

    kind = KIND

    async def reconcile(self, request: Request, api: Api) -> None:
        """Flip and record."""
        widget = await api.live.get(self.kind, request)
        base, other = copy.deepcopy(widget), copy.deepcopy(widget)
        widget["status"] = {"on": not (widget.get("status") or {}).get("on")}
        await api.status.patch(widget, merge_from(base, lock=True))
        other["status"] = {"done": True}
        await api.status.patch(other, merge_from(base, lock=True))


def test_a_cycle_of_conflicts_with_oneself_is_named() -> None:
    violation = _explained(_of(Twice()), "never settles")
    assert "with 409 Conflict (step" in violation.sentence
    assert "because the same reconcile has changed Widget default/w at resourceVersion" in violation.sentence
    text, line = _fix(violation)
    assert text.startswith("make both changes in one request; or base this one on the object that the write at ")
    assert line == "await api.status.patch(other, merge_from(base, lock=True))"


def test_a_time_that_is_written_in_every_round_is_left_out_of_the_comparison() -> None:
    text, _ = _fix(_explained(_of(Stamps()), "never settles"))
    assert "compare without the time before writing" in text


class Follows(Controller):
    """Copies one field of the status to another one, and is not run by changes of the status."""

    kind = KIND
    name = "follows"
    predicates: ClassVar[Any] = {KIND: predicates.GenerationChanged()}

    async def reconcile(self, request: Request, api: Api) -> None:
        """Copy."""
        widget = await api.live.get(self.kind, request)
        status = widget.get("status") or {}
        if status.get("valid") and not status.get("copied"):
            status["copied"] = True
            await api.status.update(widget)


class Leads(Controller):
    """Sets the field that the other controller waits for."""

    kind = KIND
    name = "leads"

    async def reconcile(self, request: Request, api: Api) -> None:
        """Set."""
        widget = await api.live.get(self.kind, request)
        if not (widget.get("status") or {}).get("valid"):
            widget["status"] = {"valid": True}
            await api.status.update(widget)


def test_a_predicate_that_drops_the_last_event_is_named() -> None:
    def copied(cluster: Cluster) -> bool:
        return bool((cluster.get(KIND, "w").get("status") or {}).get("copied"))

    violation = _explained(_of(Leads(), Follows(), properties=[eventually(copied)]), "copied")
    assert "follows does not run again: its last reconcile (steps" in violation.sentence
    assert "before leads changed status.valid of Widget default/w from absent to true" in violation.sentence
    assert "check the predicate GenerationChanged" in _fix(violation)[0]


class Needs(Controller):
    """Fails without its ConfigMap."""

    kind = KIND

    async def reconcile(self, _request: Request, api: Api) -> None:
        """Read."""
        await api.live.get("ConfigMap/v1", "default/m")


def test_a_failure_to_read_names_the_one_who_removed_the_object() -> None:
    violation = _explained(
        _of(Needs(), objects=(SIZED, CONFIG), actions=[delete(CONFIG), update(SIZED, spec={"size": 2})]),
        "fails forever",
    )
    assert "; user had deleted ConfigMap default/m (step" in violation.sentence
    assert len(violation.culprits) == 2
