package operator

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func TestTwoManagersOfAConfigMap(t *testing.T) {
	environment := envtest.Environment{}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = environment.Stop() })
	api, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}

	theme := func(color string) *corev1.ConfigMapApplyConfiguration {
		return corev1.ConfigMap("theme", "default").WithData(map[string]string{"color": color})
	}
	if err := api.Apply(t.Context(), theme("red"), client.FieldOwner("designer")); err != nil {
		t.Fatal(err)
	}
	if err := api.Apply(t.Context(), theme("blue"), client.FieldOwner("operator")); !apierrors.IsConflict(err) {
		t.Fatalf("the designer owns the color: expected a conflict, got %v", err)
	}
	if err := api.Apply(t.Context(), theme("blue"), client.FieldOwner("operator"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
}
