"""The auditor: unsafe status and metadata writes found in Go and Python controllers, by reading the code.

Classification comes first: every API write becomes a `Site` that says what is written, how, from which base and with
which lock. A policy turns sites into `Finding`s second, because good projects disagree about what is wrong. `sources`
reads files, `go` and `python` make sites, `judge` makes findings, `output` prints them, `auditor` runs all of it. The
command line is `kontend.cli.auditing.audit`. Nothing here needs a cluster, a build or a network.
"""
