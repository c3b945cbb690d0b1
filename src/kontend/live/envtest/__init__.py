"""Stand-ins for the kube-apiserver and etcd that controller-runtime's envtest starts."""
