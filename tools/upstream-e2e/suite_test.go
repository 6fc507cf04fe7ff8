// Package upstreame2e runs the importable end-to-end suite of upstream's Virtual Kubelet.
package upstreame2e

import (
	"os"
	"testing"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/test/e2e"
)

func TestUpstream(t *testing.T) {
	e2e.NewEndToEndTestSuite(e2e.EndToEndTestSuiteConfig{
		Kubeconfig:   os.Getenv("KUBECONFIG"),
		Namespace:    os.Getenv("NAMESPACE"),
		NodeName:     os.Getenv("NODE_NAME"),
		WatchTimeout: 30 * time.Second,
	}).Run(t)
}
