import type { Container, Pod, PodSpec } from "@virtual-kubelet/core";
import { kubernetesConfigSchema } from "../config.ts";
import { namespaceMap } from "../identity/namespaces.ts";
import type { TranslationContext } from "../translate/scope.ts";

/** A translation of the node `virtual`, in the configuration that the YAML of a user would give. */
export function contextOf(input: object = {}): TranslationContext {
  const config = kubernetesConfigSchema.parse(input);
  const namespaces = namespaceMap(config.namespaces, "far");
  return { owner: { clusterId: "home", nodeName: "virtual" }, config, namespaces };
}

/** A home pod `shop/web` with one container. */
export function homePod(spec: Partial<PodSpec> = {}, metadata: Pod["metadata"] = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "shop", uid: "00000000-0000-4000-8000-000000000001", ...metadata },
    spec: { nodeName: "virtual", containers: [{ name: "main", image: "nginx:1" }], ...spec },
  };
}

/** The volume and mount that a real API server adds to a pod. */
export const tokenVolume: NonNullable<PodSpec["volumes"]>[number] = {
  name: "kube-api-access-x7k2p",
  projected: {
    defaultMode: 0o644,
    sources: [
      { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
      { downwardAPI: { items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }] } },
    ],
  },
};

/** Its mount in a container. */
export const tokenMount: NonNullable<Container["volumeMounts"]>[number] = {
  name: tokenVolume.name,
  mountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
  readOnly: true,
};
