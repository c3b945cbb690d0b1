"""Kinds of remedies: each is one change of code that prevents a pattern of violations."""

from __future__ import annotations

from enum import StrEnum


class Remedy(StrEnum):
    """A kind of change, whatever the language. The values are the names in JSON."""

    # Writes from an old version
    LOCK_PATCH = "lock-patch"
    LOCK_WHOLE_PATCH = "lock-whole-patch"
    KEEP_LOCK = "keep-lock"
    LOCK_SCALE = "lock-scale"
    LOCK_JSON_PATCH = "lock-json-patch"
    LOCK_UPDATE = "lock-update"
    LOCK_APPLY = "lock-apply"
    APPLY_OWN_FIELDS = "apply-own-fields"
    APPLY_WITH_UID = "apply-with-uid"
    LOCK_LIST = "lock-list"
    SEND_VERSION = "send-version"

    # Deletes of another object
    DELETE_WITH_UID = "delete-with-uid"
    READ_BEFORE_DELETE = "read-before-delete"
    COMPARE_OWNER = "compare-owner"
    LIST_AND_COMPARE_OWNER = "list-and-compare-owner"

    # Reads
    READ_OWN_WRITES = "read-own-writes"
    READ_LIVE = "read-live"
    READ_BEFORE_WRITE = "read-before-write"
    READ_ONCE = "read-once"
    MARK_FIRST = "mark-first"
    ONE_INSTANCE = "one-instance"

    # Conflicts and errors
    END_ON_CONFLICT = "end-on-conflict"
    RECOMPUTE_AFTER_CONFLICT = "recompute-after-conflict"
    END_ON_ERROR = "end-on-error"
    END_ON_ERROR_OR_JOIN = "end-on-error-or-join"
    ADOPT_IF_OURS = "adopt-if-ours"
    TREAT_AS_FOUND = "treat-as-found"
    READ_WITH_DEFAULT = "read-with-default"
    TEST_CONDITION = "test-condition"
    CORRECT_ARGUMENT = "correct-argument"
    HANDLE_ERROR = "handle-error"
    HANDLE_ABSENCE = "handle-absence"

    # Creates and records
    DERIVE_NAME = "derive-name"
    MAKE_REPEATABLE = "make-repeatable"
    REPEATABLE_VALUE = "repeatable-value"
    REPEATABLE_ENTRY = "repeatable-entry"
    RECORD_FIRST = "record-first"
    JOIN_WRITES = "join-writes"
    ADD_FINALIZER = "add-finalizer"

    # Decisions
    LOOK_AT_RESULT = "look-at-result"
    DECIDE_BY_STATE = "decide-by-state"
    RUN_AGAIN = "run-again"
    END_AFTER_WRITE = "end-after-write"
    DO_ALWAYS = "do-always"
    WATCH_KIND = "watch-kind"
    CHECK_PREDICATE = "check-predicate"
    NOTICE_THE_REST = "notice-the-rest"
    CHECK_PROPERTY = "check-property"
    COMPARE_NEWER = "compare-newer"
    ONE_WRITER_OR_NEWER = "one-writer-or-newer"
    COMPARE_COPY = "compare-copy"
    FORGET = "forget"

    # Status
    OBSERVED_GENERATION = "observed-generation"
    COMPARE_GENERATION = "compare-generation"
    REPORT_WHEN_DONE = "report-when-done"

    # Writers that undo each other
    ONE_WRITER = "one-writer"
    ONE_OWNER = "one-owner"
    COMPUTE_FROM_ALL = "compute-from-all"
    IGNORE_TIME = "ignore-time"
    COMPUTE_FROM_WANTED = "compute-from-wanted"
    COMPARE_BEFORE_WRITE = "compare-before-write"
    BASE_ON_RETURNED = "base-on-returned"
    WRITE_LESS = "write-less"
    BACK_OFF = "back-off"
