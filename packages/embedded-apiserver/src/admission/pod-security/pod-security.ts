import { forbidden, invalid } from "../../errors/api-status-error.ts";
import { equalJson } from "../../json/json-value.ts";
import { cronJobKind } from "../../kinds/batch/cron-job.ts";
import { jobKind } from "../../kinds/batch/job.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { namespaceKind } from "../../kinds/namespace.ts";
import type { Container, PodSpec } from "../../kinds/pod/pod-fields.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { daemonSetKind } from "../../kinds/workload/daemon-set.ts";
import { deploymentKind } from "../../kinds/workload/deployment.ts";
import { podTemplateKind } from "../../kinds/workload/pod-template.ts";
import { replicaSetKind } from "../../kinds/workload/replica-set.ts";
import { replicationControllerKind } from "../../kinds/workload/replication-controller.ts";
import { statefulSetKind } from "../../kinds/workload/stateful-set.ts";
import type { Cluster } from "../../rest/cluster.ts";
import type { AdmissionContext } from "../admission-context.ts";
import type { AdmissionPlugin, AdmissionRequest, AdmissionSubject } from "../admission-plugin.ts";
import type { CheckedPod } from "./pod-security-checks.ts";
import {
  compareLevels,
  hasPodSecurity,
  levelText,
  policyOf,
  violationsOf,
  violationsText,
  type LevelVersion,
} from "./pod-security-policy.ts";

const templated: ReadonlySet<Kind> = new Set([
  replicationControllerKind,
  podTemplateKind,
  replicaSetKind,
  deploymentKind,
  daemonSetKind,
  statefulSetKind,
  jobKind,
  cronJobKind,
]);
const ignoredSubresources: ReadonlySet<string> = new Set([
  "exec",
  "attach",
  "binding",
  "eviction",
  "log",
  "portforward",
  "proxy",
  "status",
]);
const mostCheckedPods = 3000;

/**
 * Enforces the Pod Security Standards that the labels of a namespace name, and warns about templates that violate them.
 * Source: k8s.io/pod-security-admission v0.36.3 admission/admission.go.
 */
export function createPodSecurity({ cluster }: AdmissionContext): AdmissionPlugin {
  return {
    name: "PodSecurity",
    handles(subject) {
      if (subject.operation !== "CREATE" && subject.operation !== "UPDATE") return false;
      if (subject.kind === namespaceKind) return subject.subresource === "";
      return isChecked(subject) && hasPodSecurity(cluster.get(namespaceKind, undefined, subject.namespace)?.metadata.labels);
    },
    validate(request) {
      if (request.object === undefined) return;
      if (request.kind === namespaceKind) checkNamespace(cluster, request, request.object);
      else checkPod(cluster, request, request.object);
    },
  };
}

function isChecked({ kind, subresource }: AdmissionSubject): boolean {
  return kind === podKind ? !ignoredSubresources.has(subresource) : subresource === "" && templated.has(kind);
}

function checkPod(cluster: Cluster, request: AdmissionRequest, object: ApiObject): void {
  const { kind, namespace, name, old, operation, warn } = request;
  const isPod = kind === podKind;
  if (isPod && operation === "UPDATE" && old !== undefined && !isSignificant(object["spec"], old["spec"])) return;
  const pod = podOf(kind, object);
  if (pod === undefined) return;
  const { policy } = policyOf(cluster.get(namespaceKind, undefined, namespace)?.metadata.labels);
  const enforced = isPod ? violationsOf(pod, policy.enforce) : [];
  if (enforced.length > 0) throw forbidden(kind, name, `violates PodSecurity "${levelText(policy.enforce)}": ${violationsText(enforced)}`);
  const warned = violationsOf(pod, policy.warn);
  if (warned.length > 0) warn(`would violate PodSecurity "${levelText(policy.warn)}": ${violationsText(warned)}`);
}

/** The pod or the template in an object; `undefined` if there is none. */
function podOf(kind: Kind, object: Readonly<ApiObject>): CheckedPod | undefined {
  const template: Pick<ApiObject, "metadata" | "spec"> | undefined =
    kind === podKind
      ? object
      : kind === podTemplateKind
        ? object["template"]
        : kind === cronJobKind
          ? object["spec"].jobTemplate.spec.template
          : object["spec"].template;
  return template === undefined ? undefined : { annotations: template.metadata.annotations ?? {}, spec: template["spec"] };
}

/** Whether an update of a pod adds containers or changes images. */
function isSignificant(spec: PodSpec, old: PodSpec): boolean {
  const images = ({ containers, initContainers }: PodSpec): string[][] =>
    [containers ?? [], initContainers ?? []].map((list) => list.map(({ image = "" }) => image));
  const before = new Map((old.ephemeralContainers ?? []).map(({ name, image }: Container) => [name, image]));
  return (
    !equalJson(images(spec), images(old)) ||
    (spec.ephemeralContainers ?? []).some(({ name, image }: Container) => !before.has(name) || before.get(name) !== image)
  );
}

function checkNamespace(cluster: Cluster, { old, operation, warn, name }: AdmissionRequest, namespace: ApiObject): void {
  const { policy, errors } = policyOf(namespace.metadata.labels);
  const before = policyOf(old?.metadata.labels);
  const isKnown = operation === "UPDATE" && before.errors.length > 0 && equalJson(errors, before.errors);
  if (errors.length > 0 && !isKnown) throw invalid(namespaceKind, name, errors);
  if (operation !== "UPDATE" || equalJson(policy.enforce, before.policy.enforce)) return;
  const isRelaxed =
    policy.enforce.level === "privileged" ||
    (policy.enforce.minor === before.policy.enforce.minor && compareLevels(policy.enforce.level, before.policy.enforce.level) < 1);
  if (!isRelaxed) for (const warning of podWarnings(cluster, name, policy.enforce)) warn(warning);
}

/** Warnings about the pods that violate a new level. */
function podWarnings(cluster: Cluster, namespace: string, enforce: LevelVersion): string[] {
  const pods = cluster.list(podKind, namespace);
  const byReason = new Map<string, string[]>();
  for (const pod of pods.slice(0, mostCheckedPods)) {
    const violations = violationsOf({ annotations: pod.metadata.annotations ?? {}, spec: pod["spec"] }, enforce);
    if (violations.length === 0) continue;
    const reasons = violations.map(({ reason }) => reason).join(", ");
    byReason.set(reasons, [...(byReason.get(reasons) ?? []), pod.metadata.name]);
  }
  const warnings = [...byReason].map(([reasons, names]) => {
    const [first = "", ...others] = names.toSorted();
    const count = others.length === 0 ? "" : ` (and ${others.length} other ${others.length === 1 ? "pod" : "pods"})`;
    return `${first}${count}: ${reasons}`;
  });
  return [
    ...(pods.length > mostCheckedPods
      ? [`new PodSecurity enforce level only checked against the first ${mostCheckedPods} of ${pods.length} existing pods`]
      : []),
    ...(warnings.length > 0
      ? [`existing pods in namespace "${namespace}" violate the new PodSecurity enforce level "${levelText(enforce)}"`]
      : []),
    ...warnings.toSorted(),
  ];
}
