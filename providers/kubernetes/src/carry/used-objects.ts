import type { Container, DeepReadonly, Pod, PodSpec } from "@virtual-kubelet/core";
import { keyOf } from "./far-object.ts";

type Volume = DeepReadonly<NonNullable<PodSpec["volumes"]>[number]>;
type Variables = Pick<DeepReadonly<Container>, "env" | "envFrom">;

type Add = (kind: "ConfigMap" | "Secret", name: string | undefined) => void;

/** Keys of the config maps and secrets that a far pod refers to, in any field. */
export function usedObjects({ metadata, spec }: DeepReadonly<Pod>): ReadonlySet<string> {
  const namespace = metadata?.namespace ?? "";
  const keys = new Set<string>();
  const add: Add = (kind, name) => {
    if (name) keys.add(keyOf({ kind, namespace, name }));
  };
  const { volumes = [], imagePullSecrets = [], initContainers = [], containers = [], ephemeralContainers = [] } = spec ?? {};
  for (const volume of volumes) addVolume(volume, add);
  for (const { name } of imagePullSecrets) add("Secret", name);
  for (const container of [...initContainers, ...containers, ...ephemeralContainers]) addVariables(container, add);
  return keys;
}

function addVariables({ env = [], envFrom = [] }: Variables, add: Add): void {
  for (const { valueFrom } of env) {
    add("ConfigMap", valueFrom?.configMapKeyRef?.name);
    add("Secret", valueFrom?.secretKeyRef?.name);
  }
  for (const { configMapRef, secretRef } of envFrom) {
    add("ConfigMap", configMapRef?.name);
    add("Secret", secretRef?.name);
  }
}

function addVolume(volume: Volume, add: Add): void {
  const { configMap, secret, projected, azureFile, csi, cephfs, cinder, flexVolume, iscsi, rbd, scaleIO, storageos } = volume;
  add("ConfigMap", configMap?.name);
  add("Secret", secret?.secretName);
  add("Secret", azureFile?.secretName);
  add("Secret", csi?.nodePublishSecretRef?.name);
  for (const each of [cephfs, cinder, flexVolume, iscsi, rbd, scaleIO, storageos]) add("Secret", each?.secretRef?.name);
  for (const source of projected?.sources ?? []) {
    add("ConfigMap", source.configMap?.name);
    add("Secret", source.secret?.name);
  }
}
