import { resources, type KubeClient, type Pod } from "@virtual-kubelet/kube-client";
import { expect } from "vitest";
import { farChangesOf, type FarPodPatch } from "../translate/far-changes.ts";
import { farPodOf } from "../translate/far-pod.ts";
import type { TranslationContext, TranslationFacts } from "../translate/scope.ts";
import { contextOf } from "./translation.ts";

const namespaces = ["shop", "bank", "far", "home-shop"];

/** What generated pods and configurations refer to, in the order in which to create it. */
export const neededObjects: readonly {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}[] = [
  ...namespaces.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
  ...["robot", "runner"].flatMap((name) =>
    namespaces.map((namespace) => ({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } })),
  ),
  ...["high", "low"].map((name, index) => ({
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name },
    value: 10 - index,
    preemptionPolicy: "Never",
  })),
  ...["sandbox", "gvisor"].map((name, index) => ({
    apiVersion: "node.k8s.io/v1",
    kind: "RuntimeClass",
    metadata: { name },
    handler: name,
    overhead: { podFixed: { cpu: `${index + 1}0m` } },
  })),
];

const { signal } = new AbortController();

const facts: TranslationFacts = {
  claims: new Map([["data", { persistentVolumeClaim: { claimName: "data-far", readOnly: true } }]]),
  serviceVariables: [
    { name: "KUBERNETES_SERVICE_HOST", value: "192.0.2.1" },
    { name: "DB_SERVICE_HOST", value: "10.0.0.9" },
  ],
};

/** Checks translations on an API server that is home and far cluster, and checks and completes the pods of both. */
export class TranslationCheck {
  readonly #client: KubeClient;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** The API server accepts the far pod, completes it, and then nothing is left to change. */
  async creation(pod: Pod, config: object): Promise<void> {
    const home = await this.#atHome(pod);
    const context = contextOf(config);
    await this.#whileFar(home, context, async (stored, wanted) => {
      expect(partsMissing(wanted.spec, stored.spec, "spec")).toEqual([]);
      expect(patchesOf(home, stored, context)).toEqual([]);
    });
  }

  /** What changes at home reaches the far pod, once. @param other - pod with other labels, annotations and images */
  async change(pod: Pod, config: object, other: Pod): Promise<void> {
    const home = await this.#atHome(pod);
    const context = contextOf(config);
    const changed: Pod = {
      ...home,
      metadata: { ...home.metadata, labels: other.metadata?.labels, annotations: other.metadata?.annotations },
      spec: {
        ...home.spec,
        activeDeadlineSeconds: 30,
        containers: (home.spec?.containers ?? []).map((container, index) => ({
          ...container,
          image: other.spec?.containers[index]?.image,
        })),
        ephemeralContainers: [
          {
            name: "debug",
            image: "busybox",
            imagePullPolicy: "Always",
            terminationMessagePolicy: "File",
            envFrom: [{ configMapRef: { name: "web" } }],
          },
        ],
        tolerations: [...(home.spec?.tolerations ?? []), { key: "added", operator: "Exists" }],
      },
    };
    await this.#whileFar(home, context, async (stored) => {
      const patched = await this.#patch(stored, changed, context);
      expect(patchesOf(changed, patched, context)).toEqual([]);
      expect(patched.spec).toMatchObject({ activeDeadlineSeconds: 30, ephemeralContainers: [{ name: "debug" }] });
      expect(patched.spec?.containers.map(({ image }) => image)).toEqual(changed.spec?.containers.map(({ image }) => image));
      expect(patched.metadata?.labels).toEqual(farPodOf(changed, facts, context).pod.metadata?.labels);
    });
  }

  /** The translation depends on nothing but its arguments, leaves them alone, and keeps nothing of home's placement. */
  async purity(pod: Pod, config: object): Promise<void> {
    const home = await this.#atHome(pod);
    const before = structuredClone(home);
    const context = contextOf(config);
    const first = farPodOf(home, facts, context);
    expect(farPodOf(structuredClone(home), facts, contextOf(config))).toEqual(first);
    expect(home).toEqual(before);
    const { spec = { containers: [] }, metadata } = first.pod;
    expect(Object.keys(spec)).not.toContain("nodeName");
    expect(JSON.stringify(spec.affinity ?? {})).not.toContain("matchFields");
    expect(spec.nodeSelector ?? {}).toEqual(context.config.scheduling.nodeSelector);
    expect(metadata).not.toHaveProperty("uid");
    // Every name of an object of home is replaced by that of its copy.
    for (const { name } of first.carried.references) expect(JSON.stringify(spec)).not.toMatch(new RegExp(`"(name|secretName)":"${name}"`));
  }

  /** The pod as home's API server completes it, on the virtual node. */
  async #atHome(pod: Pod): Promise<Pod> {
    const stored = await this.#client.create(resources.pods, pod, { signal });
    await this.#remove(stored);
    return { ...stored, spec: { ...stored.spec, containers: stored.spec?.containers ?? [], nodeName: "virtual" } };
  }

  /** Creates the far pod, for as long as the function takes. */
  async #whileFar(home: Pod, context: TranslationContext, use: (stored: Pod, wanted: Pod) => Promise<void>): Promise<void> {
    const { pod } = farPodOf(home, facts, context);
    const stored = await this.#client.create(resources.pods, pod, { signal });
    try {
      await use(stored, pod);
    } finally {
      await this.#remove(stored);
    }
  }

  async #remove({ metadata }: Pod): Promise<void> {
    const name = { namespace: metadata?.namespace, name: metadata?.name ?? "" };
    await this.#client.delete(resources.pods, name, { gracePeriodSeconds: 0 }, { signal });
  }

  async #patch(far: Pod, home: Pod, context: TranslationContext): Promise<Pod> {
    let patched = far;
    for (const { subresource, patch } of patchesOf(home, far, context)) {
      const name = { namespace: far.metadata?.namespace, name: far.metadata?.name ?? "" };
      patched = await this.#client.patch(resources.pods, name, patch, { signal, subresource });
    }
    return patched;
  }
}

function patchesOf(home: Pod, far: Pod, context: TranslationContext): readonly FarPodPatch[] {
  const { resize, ephemeralContainers, main } = farChangesOf({ home, far }, facts, context);
  return [resize, ephemeralContainers, main(true)].filter((patch) => patch !== undefined);
}

/** Paths of what the object lacks. The API server may add fields, and items at the end of lists; it stores no empty texts. */
function partsMissing(wanted: unknown, actual: unknown, path: string): string[] {
  if (typeof wanted !== "object" || wanted === null) return wanted === actual || (wanted === "" && actual === undefined) ? [] : [path];
  return Object.entries(wanted).flatMap(([key, value]) => partsMissing(value, Object(actual)[key], `${path}.${key}`));
}
