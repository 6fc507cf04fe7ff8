import { forbidden } from "../../errors/api-status-error.ts";
import type { ApiObject, WriteContext } from "../kind.ts";
import { randomSuffix } from "../random-suffix.ts";
import { serviceAccountKind } from "../service-account.ts";
import type { PodSpec, Toleration, Volume } from "./pod-fields.ts";
import { namesInPod } from "./pod-references.ts";
import { admitPriority } from "./priority-admission.ts";
import { admitTopologyLabels } from "./topology-labels.ts";
import { admitRuntimeClass } from "./runtime-class-admission.ts";

const podResource = { group: "", plural: "pods" };
const tokenMountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
const mirrorAnnotation = "kubernetes.io/config.mirror";

/**
 * Applies the real server's admission to a new pod: service account with token volume, priority, and tolerations for unreachable nodes.
 *
 * Source: Kubernetes v1.36.3 plugin/pkg/admission/{serviceaccount,priority,defaulttolerationseconds}.
 *
 * @throws ApiStatusError 403 if the service account or the priority class does not exist
 */
export function admitPod(pod: ApiObject, context: WriteContext): void {
  const spec: PodSpec = pod["spec"];
  admitPriority(pod.metadata.name, spec, context);
  if (context.serviceAccounts) {
    if (pod.metadata.annotations?.[mirrorAnnotation] === undefined) admitServiceAccount(pod, spec, context);
    else admitMirrorPod(pod, spec);
  }
  admitTolerations(spec);
  admitTopologyLabels(pod, context.cluster);
  admitRuntimeClass(pod.metadata.name, spec, context);
}

/** Applies the same admission to an update of a pod. */
export function admitPodUpdate(spec: PodSpec, old: PodSpec): void {
  if (old.priority !== undefined) spec.priority ??= old.priority;
  if (old.preemptionPolicy !== undefined) spec.preemptionPolicy ??= old.preemptionPolicy;
  admitTolerations(spec);
}

/** Checks that a mirror pod references no objects that only API pods may use. */
function admitMirrorPod(pod: ApiObject, { serviceAccountName, volumes = [] }: PodSpec): void {
  const refuse = (problem: string): Error => forbidden(podResource, pod.metadata.name, problem);
  if (serviceAccountName !== undefined) throw refuse("a mirror pod may not reference service accounts");
  if (namesInPod(pod, "secrets").length > 0) throw refuse("a mirror pod may not reference secrets");
  const hasToken = volumes.some(({ projected }) => projected?.sources?.some((source) => source.serviceAccountToken !== undefined));
  if (hasToken) throw refuse("a mirror pod may not use ServiceAccountToken volume projections");
}

function admitServiceAccount(pod: ApiObject, spec: PodSpec, { cluster, random }: WriteContext): void {
  const namespace = pod.metadata.namespace ?? "";
  const name = spec.serviceAccountName ?? "default";
  spec.serviceAccountName = spec.serviceAccount = name;
  const account = cluster.get(serviceAccountKind, namespace, name);
  if (account === undefined) {
    throw forbidden(
      podResource,
      pod.metadata.name,
      `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`,
    );
  }
  const mountsToken: boolean = spec.automountServiceAccountToken ?? account["automountServiceAccountToken"] ?? true;
  if (mountsToken) mountToken(spec, () => `kube-api-access-${randomSuffix(random)}`);
  const pullSecrets: { name?: string }[] = account["imagePullSecrets"] ?? [];
  if (spec.imagePullSecrets === undefined && pullSecrets.length > 0)
    spec.imagePullSecrets = pullSecrets.map(({ name: secret = "" }) => ({ name: secret }));
}

function mountToken(spec: PodSpec, newName: () => string): void {
  const existing = spec.volumes?.find((volume) => volume.name.startsWith("kube-api-access-"));
  const name = existing?.name ?? newName();
  let isMounted = false;
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    if (container.volumeMounts?.some((mount) => mount.mountPath === tokenMountPath)) continue;
    container.volumeMounts = [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath: tokenMountPath }];
    isMounted = true;
  }
  if (existing === undefined && isMounted) spec.volumes = [...(spec.volumes ?? []), tokenVolume(name)];
}

function tokenVolume(name: string): Volume {
  return {
    name,
    projected: {
      defaultMode: 0o644,
      sources: [
        { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        { downwardAPI: { items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }] } },
      ],
    },
  };
}

function admitTolerations(spec: PodSpec): void {
  for (const key of ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]) {
    const tolerates = (toleration: Toleration): boolean =>
      (toleration.key === undefined || toleration.key === key) && (toleration.effect === undefined || toleration.effect === "NoExecute");
    if (spec.tolerations?.some(tolerates)) continue;
    spec.tolerations = [...(spec.tolerations ?? []), { key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 }];
  }
}
