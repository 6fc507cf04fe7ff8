/** Finalizers that need no domain. Source: k8s.io/apimachinery v0.36.3 pkg/apis/meta/v1/types.go, and k8s.io/api core/v1. */
export const standardFinalizers: ReadonlySet<string> = new Set(["kubernetes", "orphan", "foregroundDeletion"]);
