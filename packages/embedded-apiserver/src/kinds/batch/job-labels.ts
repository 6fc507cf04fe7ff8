/** Labels of a Job's pods; the plain ones are older. Source: k8s.io/api v0.36.3 batch/v1/types.go. */
export const jobLabels = {
  name: "batch.kubernetes.io/job-name",
  legacyName: "job-name",
  uid: "batch.kubernetes.io/controller-uid",
  legacyUid: "controller-uid",
} as const;

/** Annotation and label that number the pods of a Job. */
export const completionIndexKey = "batch.kubernetes.io/job-completion-index";

/** Keeps a pod of a Job until the Job has counted it. */
export const trackingFinalizer = "batch.kubernetes.io/job-tracking";
