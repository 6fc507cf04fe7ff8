import { cloneJson } from "../../json/json-value.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import type { JobSpec } from "../../kinds/batch/batch-fields.ts";
import { completionIndexKey, trackingFinalizer } from "../../kinds/batch/job-labels.ts";
import { jobKind } from "../../kinds/batch/job.ts";
import type { Container } from "../../kinds/pod/pod-fields.ts";
import { controllerReference } from "../shared/ownership.ts";
import { judgeFailure } from "./job-failure-policy.ts";
import { earlierFailures, failureAnnotations, type JobPod } from "./job-pods.ts";

/** Source: k8s.io/apiserver v0.36.3 pkg/storage/names/generate.go, `MaxGeneratedNameLength`. */
const maxPrefixLength = 58;
const indexVariable = "JOB_COMPLETION_INDEX";

/**
 * Builds a pod of a Job.
 * Source: Kubernetes v1.36.3 pkg/controller/job/{job_controller,indexed_job_utils}.go.
 *
 * @param replaced - latest failed pod with the same index, for Jobs that count failures per index
 */
export function jobPod(job: Readonly<ApiObject>, index: number | undefined, replaced: JobPod | undefined): object {
  const spec: JobSpec = job["spec"];
  const { name, namespace } = job.metadata;
  const { labels, annotations, finalizers = [] } = spec.template.metadata;
  const podSpec = cloneJson(spec.template.spec);
  const metadata = {
    namespace,
    finalizers: finalizers.includes(trackingFinalizer) ? finalizers : [...finalizers, trackingFinalizer],
    ownerReferences: [controllerReference(jobKind, job)],
  };
  if (index === undefined) return { metadata: { ...metadata, generateName: `${name}-`, labels, annotations }, spec: podSpec };
  for (const container of [...(podSpec.initContainers ?? []), ...(podSpec.containers ?? [])]) addIndexVariable(container);
  const number = { [completionIndexKey]: String(index) };
  const failures = spec.backoffLimitPerIndex === undefined ? {} : failureAnnotations(failuresBefore(spec, replaced));
  return {
    metadata: {
      ...metadata,
      generateName: indexedPrefix(name, index),
      labels: { ...labels, ...number },
      annotations: { ...annotations, ...number, ...failures },
    },
    spec: { ...podSpec, hostname: `${name}-${index}` },
  };
}

function indexedPrefix(name: string, index: number): string {
  const suffix = `-${index}-`;
  return `${name.slice(0, maxPrefixLength - suffix.length)}${suffix}`;
}

function addIndexVariable(container: Container): void {
  if (container.env?.some(({ name }) => name === indexVariable)) return;
  const fieldRef = { apiVersion: "v1", fieldPath: `metadata.labels['${completionIndexKey}']` };
  container.env = [...(container.env ?? []), { name: indexVariable, valueFrom: { fieldRef } }];
}

function failuresBefore(spec: JobSpec, replaced: JobPod | undefined): { counted: number; ignored: number } {
  if (replaced === undefined) return { counted: 0, ignored: 0 };
  const { counted, ignored } = earlierFailures(replaced);
  return judgeFailure(spec, replaced).isCounted ? { counted: counted + 1, ignored } : { counted, ignored: ignored + 1 };
}
