import { isNotFound } from "@virtual-kubelet/errdefs";
import { resources, type Deployment, type KubeClient, type Pod, type PodSpec } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";

const { signal } = new AbortController();

/** A pod that is bound to a node without the scheduler. */
export function podOn(node: string, name: string, namespace: string, spec: Partial<PodSpec> = {}): Pod {
  return {
    metadata: { name, namespace },
    spec: { nodeName: node, containers: [{ name: "main", image: "main:1" }], terminationGracePeriodSeconds: 5, ...spec },
  };
}

/** A Deployment whose pods are only scheduled to the node. */
export function deploymentOn(node: string, name: string, namespace: string, replicas: number): Deployment {
  return {
    metadata: { name, namespace },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          nodeSelector: { "kubernetes.io/hostname": node },
          tolerations: [{ operator: "Exists" }],
          terminationGracePeriodSeconds: 2,
          containers: [{ name: "main", image: "main:1" }],
        },
      },
    },
  };
}

/** Pods of a namespace, with the queries that tests need. */
export class Pods {
  readonly #client: KubeClient;
  readonly #namespace: string;

  constructor(client: KubeClient, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
  }

  async create(pod: Pod): Promise<Pod & { readonly uid: string }> {
    const created = await this.#client.create(resources.pods, pod, { signal });
    return { ...created, uid: created.metadata?.uid ?? "" };
  }

  async get(name: string): Promise<Pod> {
    return await this.#client.get(resources.pods, { namespace: this.#namespace, name }, { signal });
  }

  async list(labelSelector?: string): Promise<Pod[]> {
    return (await this.#client.list(resources.pods, { namespace: this.#namespace, labelSelector }, { signal })).items;
  }

  async delete(name: string, gracePeriodSeconds?: number): Promise<void> {
    await this.#client.delete(resources.pods, { namespace: this.#namespace, name }, { gracePeriodSeconds }, { signal });
  }

  /** Waits until the pod is running and ready. */
  async running(name: string, timeoutMs = 60_000): Promise<Pod> {
    return await eventually(
      async () => {
        const pod = await this.get(name);
        expect(readiness(pod)).toEqual({ phase: "Running", ready: "True" });
        return pod;
      },
      { timeoutMs, describe: `pod ${name} to run` },
    );
  }

  /** Waits until this number of pods with the labels is ready. */
  async allReady(labelSelector: string, count: number, timeoutMs = 90_000): Promise<Pod[]> {
    return await eventually(
      async () => {
        const pods = await this.list(labelSelector);
        expect(pods.map(readiness)).toEqual(Array.from({ length: count }, () => ({ phase: "Running", ready: "True" })));
        return pods;
      },
      { timeoutMs, describe: `${String(count)} ready pods` },
    );
  }

  /** Waits until the pod does not exist. */
  async gone(name: string, timeoutMs = 60_000): Promise<void> {
    await eventually(
      async () => {
        const found = await this.get(name).catch((error: unknown) => {
          if (isNotFound(error)) return undefined;
          throw error;
        });
        expect(found?.metadata).toBeUndefined();
      },
      { timeoutMs, describe: `pod ${name} to be gone` },
    );
  }
}

/** Phase, and status of the Ready condition. */
export function readiness(pod: Pod): { readonly phase: string | undefined; readonly ready: string | undefined } {
  return { phase: pod.status?.phase, ready: pod.status?.conditions?.find(({ type }) => type === "Ready")?.status };
}

/** ID of the instance that runs the pod's first container, which pretend back ends put into the container ID. */
export function instanceIdOf(pod: Pod): string {
  return /^pretend:\/\/([^/]+)\//.exec(pod.status?.containerStatuses?.[0]?.containerID ?? "")?.[1] ?? "";
}
