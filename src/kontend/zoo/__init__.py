"""The zoo: real bugs, each with its fixed twin, and the run that shows how many of them the explorer finds.

:mod:`kontend.zoo.entry` reads the files, :mod:`kontend.zoo.runs` explores their scenarios, and
:mod:`kontend.zoo.report` turns the results into a table, JSON or a page about one bug.
"""
