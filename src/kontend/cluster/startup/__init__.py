"""Starting points: an empty cluster, objects put into it, and the objects that kube-apiserver makes when it starts."""
