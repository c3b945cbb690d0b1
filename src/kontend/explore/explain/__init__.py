"""Explains violations: the cause in terms of reads and writes, the steps with values, and the change that helps.

An explanation is derived from the scenario, the property and the schedule by following the schedule once more, so a
search pays nothing for it.
"""
