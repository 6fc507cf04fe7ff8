/** A pod as a load creates it. */
export interface PodToCreate {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> } & Readonly<Record<string, unknown>>;
  readonly spec: { readonly containers: readonly object[] } & Readonly<Record<string, unknown>>;
}

/** Returns a pod with nothing but a container. */
export function plainPod(name: string): PodToCreate {
  return {
    metadata: { name },
    spec: {
      containers: [{ name: "main", image: "busybox", command: ["sleep", "infinity"] }],
      tolerations: [{ operator: "Exists" }],
    },
  };
}

const templateHash = "6d4b75cb6d";
const notReadySeconds = 300;

/** Returns a pod as the controllers and the admission plugins of a cluster make it for `kubectl create deployment web --image=…`. */
export function deploymentPod(name: string): PodToCreate {
  const replicaSet = `web-${templateHash}`;
  // Kubernetes makes up the end of this name for each pod.
  const tokenVolume = `kube-api-access-${name.slice(-5).padStart(5, "x")}`;
  return {
    metadata: {
      name,
      generateName: `${replicaSet}-`,
      labels: { app: "web", "pod-template-hash": templateHash },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          name: replicaSet,
          uid: "5f0c8ad0-5d6c-4d0e-9a4b-4a3f5a1f5d51",
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      containers: [
        {
          name: "web",
          image: "registry.example.com/team/web:1.27.4",
          imagePullPolicy: "IfNotPresent",
          resources: {},
          terminationMessagePath: "/dev/termination-log",
          terminationMessagePolicy: "File",
          volumeMounts: [{ name: tokenVolume, readOnly: true, mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" }],
        },
      ],
      serviceAccountName: "default",
      tolerations: ["not-ready", "unreachable"].map((taint) => ({
        key: `node.kubernetes.io/${taint}`,
        operator: "Exists",
        effect: "NoExecute",
        tolerationSeconds: notReadySeconds,
      })),
      volumes: [
        {
          name: tokenVolume,
          projected: {
            defaultMode: 420,
            sources: [
              { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
              { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
              { downwardAPI: { items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }] } },
            ],
          },
        },
      ],
    },
  };
}
