import type { ApiObject, Kind } from "../kind.ts";
import { applyPodSpecDefaults } from "../pod/pod-spec-defaults.ts";
import type { JobSpec } from "./batch-fields.ts";
import { jobColumns } from "./batch-columns.ts";
import { jobLabels } from "./job-labels.ts";
import { jobErrors } from "./validate-job.ts";

const maxInt32 = 2 ** 31 - 1;

/** Source: Kubernetes v1.36.3 pkg/apis/batch/v1/defaults.go and pkg/registry/batch/job/strategy.go. */
export const jobKind: Kind = {
  group: "batch",
  version: "v1",
  kind: "Job",
  plural: "jobs",
  singular: "job",
  categories: ["all"],
  namespaced: true,
  schema: "io.k8s.api.batch.v1.Job",
  hasStatus: true,
  hasGeneration: true,
  orphansByDefault: {
    warning:
      "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
  },
  applyDefaults(job) {
    const spec: JobSpec = job["spec"];
    applyJobSpecDefaults(spec);
    applyPodSpecDefaults(spec.template.spec);
    copyTemplateLabels(job);
  },
  prepareForCreate(job) {
    const spec: JobSpec = job["spec"];
    const hasOwnLabels = job.metadata.labels !== undefined && job.metadata.labels !== spec.template.metadata.labels;
    if (!spec.manualSelector) generateSelector(job, spec);
    job["status"] = {};
    if (!hasOwnLabels) copyTemplateLabels(job, true);
  },
  validate: jobErrors,
  fieldSelectors: { "status.successful": (job) => String(job["status"].succeeded ?? 0) },
  columns: jobColumns,
};

function applyJobSpecDefaults(spec: JobSpec): void {
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : maxInt32;
  spec.completionMode ??= "NonIndexed";
  spec.suspend ??= false;
  spec.podReplacementPolicy ??= spec.podFailurePolicy === undefined ? "TerminatingOrFailed" : "Failed";
  spec.manualSelector ??= false;
  applyPodFailurePolicyDefaults(spec);
}

/** Applies the defaults of a failure policy, also in a CronJob's template. */
export function applyPodFailurePolicyDefaults({ podFailurePolicy }: JobSpec): void {
  for (const { onPodConditions = [] } of podFailurePolicy?.rules ?? []) for (const pattern of onPodConditions) pattern.status ||= "True";
}

/** Gives a Job without labels those of its template, including the generated ones. */
function copyTemplateLabels(job: ApiObject, isForced: boolean = false): void {
  const { template }: JobSpec = job["spec"];
  const { labels } = template.metadata;
  if (labels !== undefined && (isForced || job.metadata.labels === undefined)) job.metadata.labels = labels;
}

function generateSelector({ metadata }: ApiObject, spec: JobSpec): void {
  const { name, uid } = metadata;
  const generated = { [jobLabels.legacyName]: name, [jobLabels.name]: name, [jobLabels.legacyUid]: uid, [jobLabels.uid]: uid };
  spec.template.metadata.labels = { ...generated, ...spec.template.metadata.labels };
  spec.selector = { ...spec.selector, matchLabels: { [jobLabels.uid]: uid, ...spec.selector?.matchLabels } };
}
