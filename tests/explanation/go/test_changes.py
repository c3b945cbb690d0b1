"""Changes of Go code with which controllers are repaired."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable

import pytest

from kontend.explanation.change import Change
from kontend.explanation.edits import applied, changed_lines
from kontend.explanation.go.changes import changes_of
from kontend.explanation.go.source import GoSource
from kontend.explanation.remedies import Remedy

CODE = """\
package controllers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Pods makes pods.
type Pods struct {
	client.Client
	Count int // of pods
}

func (r *Pods) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&corev1.Pod{}).WithEventFilter(changed()).Complete(r)
}

func (r *Pods) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pod := &corev1.Pod{}
	if err := r.Get(ctx, req.NamespacedName, pod); err != nil { // from the cache
		return ctrl.Result{}, err
	}
	base := pod.DeepCopy()
	pod.ResourceVersion = ""
	if err := r.Update(ctx, pod); err != nil {
		log(err)
	}
	if err := r.Status().Patch(ctx, pod, client.MergeFrom(base)); err != nil {
		return ctrl.Result{}, nil
	}
	_ = r.Delete(ctx, pod)
	child := &corev1.Pod{ObjectMeta: meta(GenerateName("x"))}
	child.GenerateName = req.Name + "-"
	if err := r.Create(ctx, child); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, nil
}

func (r *Pods) retried(ctx context.Context, pod *corev1.Pod) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		pod.Labels["a"] = "b"
		return r.Update(ctx, pod)
	})
}

func (r *Pods) labelled(ctx context.Context, obj *unstructured.Unstructured) error {
	wanted := only(obj)
	return r.Patch(ctx, wanted, client.Apply, client.FieldOwner("pods"), client.ForceOwnership)
}
"""


def line_of(text: str) -> int:
    return next(at for at, line in enumerate(CODE.splitlines(), 1) if text in line)


def changes(text: str, remedy: Remedy) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The lines before and after of the changes with a remedy in the function with a line."""
    source = GoSource(CODE)
    found = changes_of(source, frozenset({line_of(text)}))
    return [changed_lines(source.data, change.edits) for change in found if change.remedy is remedy]


def all_changes() -> list[Change]:
    return changes_of(GoSource(CODE), frozenset(range(1, CODE.count("\n") + 1)))


def after(found: Iterable[tuple[tuple[str, ...], tuple[str, ...]]]) -> list[list[str]]:
    return [[line.strip() for line in lines] for _, lines in found]


@pytest.mark.parametrize(
    ("place", "remedy", "expected"),
    [
        (
            "Status().Patch",
            Remedy.LOCK_PATCH,
            "if err := r.Status().Patch(ctx, pod, client.MergeFromWithOptions(base, "
            "client.MergeFromWithOptimisticLock{})); err != nil {",
        ),
        (
            "r.Delete",
            Remedy.DELETE_WITH_UID,
            "_ = r.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})",
        ),
        ("r.Get", Remedy.HANDLE_ABSENCE, "return ctrl.Result{}, client.IgnoreNotFound(err)"),
        ("r.Create", Remedy.TREAT_AS_FOUND, "if err := client.IgnoreAlreadyExists(r.Create(ctx, child)); err != nil {"),
        ("r.Update", Remedy.END_ON_ERROR, "return ctrl.Result{}, err"),
        ("Status().Patch", Remedy.END_ON_CONFLICT, "return ctrl.Result{}, err"),
        ("client.Apply", Remedy.APPLY_WITH_UID, "wanted.SetUID(obj.GetUID())"),
        (
            "client.Apply",
            Remedy.APPLY_OWN_FIELDS,
            'return r.Patch(ctx, wanted, client.Apply, client.FieldOwner("pods"))',
        ),
        ("r.Create", Remedy.RUN_AGAIN, "return ctrl.Result{Requeue: true}, nil"),
        ("labelled", Remedy.CHECK_PREDICATE, "return ctrl.NewControllerManagedBy(mgr).For(&corev1.Pod{}).Complete(r)"),
    ],
)
def test_a_remedy_is_carried_out(place: str, remedy: Remedy, expected: str) -> None:
    assert [expected] in after(changes(place, remedy))


def test_an_update_keeps_the_version() -> None:
    assert changes("r.Update(ctx, pod); err", Remedy.LOCK_UPDATE) == [(('\tpod.ResourceVersion = ""',), ())]


def test_a_retry_reads_at_the_start_of_each_attempt() -> None:
    ((_, lines),) = changes("RetryOnConflict", Remedy.RECOMPUTE_AFTER_CONFLICT)
    assert [line.strip() for line in lines][:3] == [
        "if err := r.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {",
        "return err",
        "}",
    ]


def test_a_reader_is_added_where_a_struct_has_none() -> None:
    ((before, lines),) = changes("r.Get", Remedy.READ_LIVE)
    assert "liveReader client.Reader" in [line.strip() for line in lines]
    assert "r.liveReader = mgr.GetAPIReader()" in [line.strip() for line in lines]
    assert before[-1] == "\tif err := r.Get(ctx, req.NamespacedName, pod); err != nil { // from the cache"
    assert lines[-1] == "\tif err := r.liveReader.Get(ctx, req.NamespacedName, pod); err != nil { // from the cache"


def test_the_reader_of_a_struct_is_used() -> None:
    code = CODE.replace("	Count int // of pods", "	Live  client.Reader")
    source = GoSource(code)
    (change,) = [each for each in changes_of(source, frozenset({25})) if each.remedy is Remedy.READ_LIVE]
    assert [edit.text for edit in change.edits] == ["r.Live.Get"]


def test_only_locks_and_predicates_are_looked_for_elsewhere() -> None:
    found = {change.remedy for change in changes_of(GoSource(CODE), frozenset({line_of("RetryOnConflict")}))}
    assert found == {Remedy.LOCK_PATCH, Remedy.CHECK_PREDICATE, Remedy.RECOMPUTE_AFTER_CONFLICT, Remedy.HANDLE_ABSENCE}


def test_all_changes_leave_go_code_and_its_comments() -> None:
    for change in all_changes():
        changed = applied(CODE.encode(), change.edits).decode()
        GoSource(changed)  # or it raises
        kept = [line for line in CODE.splitlines() if "// " in line]
        if change.remedy is not Remedy.END_AFTER_WRITE:
            assert all(line.partition("// ")[2] in changed for line in kept), change.remedy


@pytest.mark.skipif(shutil.which("gofmt") is None, reason="there is no gofmt")
def test_all_changes_are_formatted_as_gofmt_does() -> None:
    for change in all_changes():
        changed = applied(CODE.encode(), change.edits).decode()
        formatted = subprocess.run(["gofmt"], input=changed, capture_output=True, text=True, check=True).stdout
        assert changed == formatted, change.remedy
