"""Causes of violations, by the kind of the property: single writes, final states, cycles.

:mod:`~kontend.explore.explain.causes.writes` is about one write that went wrong,
:mod:`~kontend.explore.explain.causes.outcomes` about a wrong final state,
:mod:`~kontend.explore.explain.causes.cycles` about runs that never settle.
"""
