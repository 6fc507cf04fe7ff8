import type { Pod } from "@virtual-kubelet/kube-client";

/** Name and namespace of an object. */
export interface NamedObject {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Resource and name that a pod names, if it does. */
type Reference = readonly [resource: string, name: string | undefined];

/** One object of each kind that the pods name, by resource: `secrets`, `configmaps`, `persistentvolumeclaims`, `serviceaccounts/token`. */
export function objectsOfPods(pods: readonly Pod[]): ReadonlyMap<string, NamedObject> {
  const found = new Map<string, NamedObject>();
  for (const pod of pods) {
    for (const [resource, name] of referencesOf(pod)) {
      if (name !== undefined && name !== "" && !found.has(resource)) found.set(resource, { namespace: pod.metadata?.namespace, name });
    }
  }
  return found;
}

function referencesOf({ spec }: Pod): Reference[] {
  const { volumes = [], imagePullSecrets = [], containers = [], initContainers = [], serviceAccountName } = spec ?? {};
  return [
    ...volumes.flatMap(({ secret, configMap, persistentVolumeClaim }): Reference[] => [
      ["secrets", secret?.secretName],
      ["configmaps", configMap?.name],
      ["persistentvolumeclaims", persistentVolumeClaim?.claimName],
    ]),
    ...imagePullSecrets.map(({ name }): Reference => ["secrets", name]),
    ...[...containers, ...initContainers].flatMap(({ env = [], envFrom = [] }) => [
      ...env.flatMap(({ valueFrom }): Reference[] => [
        ["secrets", valueFrom?.secretKeyRef?.name],
        ["configmaps", valueFrom?.configMapKeyRef?.name],
      ]),
      ...envFrom.flatMap(({ secretRef, configMapRef }): Reference[] => [
        ["secrets", secretRef?.name],
        ["configmaps", configMapRef?.name],
      ]),
    ]),
    ["serviceaccounts/token", serviceAccountName],
  ];
}
