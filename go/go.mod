module kontend.dev/kontend

go 1.22.0

require (
	github.com/go-logr/logr v1.4.2
	github.com/google/uuid v1.6.0
	k8s.io/apimachinery v0.31.0
	k8s.io/client-go v0.31.0
	sigs.k8s.io/controller-runtime v0.19.0
)
