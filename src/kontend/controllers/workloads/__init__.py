"""Controllers of Deployments, ReplicaSets, StatefulSets and DaemonSets."""
