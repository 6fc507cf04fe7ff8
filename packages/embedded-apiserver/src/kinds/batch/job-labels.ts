/** Labels of a Job's pods; those without a prefix are older. Source: k8s.io/api v0.36.3 batch/v1/types.go. */
export const jobLabels = {
  name: "batch.kubernetes.io/job-name",
  legacyName: "job-name",
  uid: "batch.kubernetes.io/controller-uid",
  legacyUid: "controller-uid",
} as const;

/** Annotation and label with the index of a Job's pod. */
export const completionIndexKey = "batch.kubernetes.io/job-completion-index";

/** Finalizer that keeps a Job's pod until the Job has counted it. */
export const trackingFinalizer = "batch.kubernetes.io/job-tracking";
