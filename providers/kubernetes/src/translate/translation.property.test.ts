import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, type KubeClient, type Pod } from "@virtual-kubelet/kube-client";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { contextOf } from "../test-support/translation.ts";
import { userConfig, userPod } from "../test-support/pod-arbitraries.ts";
import { farChangesOf } from "./far-changes.ts";
import { farPodOf, type FarPod } from "./far-pod.ts";
import type { TranslationContext, TranslationFacts } from "./scope.ts";

// One API server in memory is both clusters: it checks and completes the pods of home as well as the far ones.
let server: ApiServer | undefined;
let client: KubeClient;
const { signal } = new AbortController();

const namespaces = ["shop", "bank", "far", "home-shop"];

beforeAll(async () => {
  const inEach = (kind: string, name: string): object[] =>
    namespaces.map((namespace) => ({ apiVersion: "v1", kind, metadata: { name, namespace } }));
  server = await startApiServer({
    listen: false,
    controllers: false,
    clock: new VirtualClock(),
    random: new SeededRandom(1),
    objects: [
      ...namespaces.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
      ...["robot", "runner"].flatMap((name) => inEach("ServiceAccount", name)),
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
    ],
  });
  client = createKubeClient(server.transport());
});
afterAll(() => server?.close());

const facts: TranslationFacts = {
  claims: new Map([["data", { persistentVolumeClaim: { claimName: "data-far", readOnly: true } }]]),
  serviceVariables: [
    { name: "KUBERNETES_SERVICE_HOST", value: "192.0.2.1" },
    { name: "DB_SERVICE_HOST", value: "10.0.0.9" },
  ],
};

/** The pod as home's API server completes it, on the virtual node. */
async function atHome(pod: Pod): Promise<Pod> {
  const stored = await client.create(resources.pods, pod, { signal });
  await remove(stored);
  return { ...stored, spec: { ...stored.spec, containers: stored.spec?.containers ?? [], nodeName: "virtual" } };
}

/** Creates the far pod, for as long as the function takes. */
async function whileFar<T>({ pod }: FarPod, use: (stored: Pod) => Promise<T>): Promise<T> {
  const stored = await client.create(resources.pods, pod, { signal });
  try {
    return await use(stored);
  } finally {
    await remove(stored);
  }
}

async function remove({ metadata }: Pod): Promise<void> {
  const name = { namespace: metadata?.namespace, name: metadata?.name ?? "" };
  await client.delete(resources.pods, name, { gracePeriodSeconds: 0 }, { signal });
}

/** Paths of what the object lacks. The API server may add fields, and items at the end of lists; it stores no empty texts. */
function partsMissing(wanted: unknown, actual: unknown, path: string): string[] {
  if (typeof wanted !== "object" || wanted === null) return wanted === actual || (wanted === "" && actual === undefined) ? [] : [path];
  return Object.entries(wanted).flatMap(([key, value]) => partsMissing(value, Object(actual)[key], `${path}.${key}`));
}

async function patch(far: Pod, home: Pod, context: TranslationContext): Promise<Pod> {
  let patched = far;
  for (const { subresource, patch: body } of farChangesOf(home, far, facts, context).patches) {
    const name = { namespace: far.metadata?.namespace, name: far.metadata?.name ?? "" };
    patched = await client.patch(resources.pods, name, body, { signal, subresource });
  }
  return patched;
}

test("an API server accepts every far pod, completes it, and then nothing is left to change", async () => {
  await fc.assert(
    fc.asyncProperty(userPod, userConfig, async (pod, config) => {
      const home = await atHome(pod);
      const context = contextOf(config);
      const far = farPodOf(home, facts, context);

      await whileFar(far, async (stored) => {
        expect(partsMissing(far.pod.spec, stored.spec, "spec")).toEqual([]);
        expect(farChangesOf(home, stored, facts, context)).toEqual({ patches: [], carried: undefined });
      });
    }),
  );
});

test("a change at home reaches the far pod, once", async () => {
  await fc.assert(
    fc.asyncProperty(userPod, userConfig, userPod, async (pod, config, other) => {
      const home = await atHome(pod);
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
          ephemeralContainers: [{ name: "debug", image: "busybox", envFrom: [{ configMapRef: { name: "web" } }] }],
          tolerations: [...(home.spec?.tolerations ?? []), { key: "added", operator: "Exists" }],
        },
      };

      await whileFar(farPodOf(home, facts, context), async (stored) => {
        const patched = await patch(stored, changed, context);

        expect(farChangesOf(changed, patched, facts, context)).toEqual({ patches: [], carried: undefined });
        expect(patched.spec).toMatchObject({ activeDeadlineSeconds: 30, ephemeralContainers: [{ name: "debug" }] });
        expect(patched.spec?.containers.map(({ image }) => image)).toEqual(changed.spec?.containers.map(({ image }) => image));
        const { labels: wanted } = farPodOf(changed, facts, context).pod.metadata ?? {};
        expect(patched.metadata?.labels).toEqual(wanted);
      });
    }),
  );
});

test("a translation depends on nothing but its arguments, leaves them alone, and keeps nothing of home's placement", async () => {
  await fc.assert(
    fc.asyncProperty(userPod, userConfig, async (pod, config) => {
      const home = await atHome(pod);
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
      for (const { name } of first.carried.references)
        expect(JSON.stringify(spec)).not.toMatch(new RegExp(`"(name|secretName)":"${name}"`));
    }),
  );
});
