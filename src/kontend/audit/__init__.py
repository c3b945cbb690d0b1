"""The auditor: unsafe status and metadata writes found in Go and Python controllers, by reading the code.

Classification comes first: every API write becomes a `Site` that says what is written, how, from which base and with
which lock. A policy turns sites into `Finding`s second, because good projects disagree about what is wrong.
`kontend.audit.go` and `kontend.audit.python` make sites, `judge` and `writers` make findings, `output` prints them,
`command` is the command line. Nothing here needs a cluster, a build or a network.
"""
