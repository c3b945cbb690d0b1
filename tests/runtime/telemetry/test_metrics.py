"""Numbers for Prometheus."""

from __future__ import annotations

from kontend.runtime.telemetry.metrics import Histogram, Metric, Metrics


def test_counters_are_written_with_their_labels() -> None:
    metric = Metric("requests_total", "Requests.", "counter")
    metric.add(method="GET", code="200")
    metric.add(2, code="200", method="GET")
    metric.set(1.5, method='odd"\\\n')
    assert metric.lines() == [
        'requests_total{code="200",method="GET"} 3',
        'requests_total{method="odd\\"\\\\\\n"} 1.5',
    ]


def test_a_histogram_counts_what_is_below_each_bound() -> None:
    histogram = Histogram("seconds", "Time.", bounds=(0.1, 1))
    for seconds in (0.05, 0.1, 0.5, 7):
        histogram.observe(seconds)
    assert histogram.lines() == [
        'seconds_bucket{le="0.1"} 2',
        'seconds_bucket{le="1"} 3',
        'seconds_bucket{le="+Inf"} 4',
        "seconds_sum 7.65",
        "seconds_count 4",
    ]


def test_the_text_has_help_and_type_and_leaves_out_what_was_never_counted() -> None:
    metrics = Metrics()
    metrics.reconciles.add(controller="a", result="success")
    metrics.refresh.append(lambda: metrics.depth.set(3, name="a"))
    lines = metrics.text().splitlines()
    assert "# TYPE controller_runtime_reconcile_total counter" in lines
    assert 'workqueue_depth{name="a"} 3' in lines
    assert not any("leader_election" in line for line in lines)
    assert metrics.text().endswith("\n")
