// Package kubernetese2e names Kubernetes' end-to-end tests, so that `go mod tidy` keeps what they are built from.
package kubernetese2e

import _ "k8s.io/kubernetes/test/e2e"
