import { podRef, type AttachIO, type Pod } from "@virtual-kubelet/core";
import { resources, type KubeClient, type Transport } from "@virtual-kubelet/kube-client";
import { PassThrough } from "node:stream";
import { expect, test, vi } from "vitest";
import { FakeHome } from "../test-support/fake-home.ts";
import { configOf, farNode, quota } from "../test-support/far-nodes.ts";
import { homePod, reportFar, startFarRig, type FarRig, type OpenedNode } from "../test-support/far-rig.ts";
import { farManifest } from "./far-manifest.ts";
import { farRules } from "./far-rules.ts";

const { signal } = new AbortController();
const groups = ["system:serviceaccounts", "system:authenticated"];

/** A far cluster in which a virtual node has the printed rights, and the accesses that it has used. */
interface RightsRig extends AsyncDisposable {
  readonly rig: FarRig;
  readonly home: FakeHome;
  readonly node: OpenedNode;
  /** As `verb resource`. */
  readonly used: ReadonlySet<string>;
  /** Answered with 403. */
  readonly forbidden: ReadonlySet<string>;
}

/** Rights that an authenticated user has anyway. */
const everybodys = ["create selfsubjectaccessreviews", "create selfsubjectreviews"];

async function open(input: object, objects: readonly object[] = []): Promise<RightsRig> {
  const used = new Set<string>();
  const forbidden = new Set<string>();
  const wrap = (transport: Transport): Transport => ({
    ...transport,
    request: async (request) => {
      // Without the parameter that belongs to it a server refuses to stream a list, as older ones do; then it is listed.
      const path = request.path.replace("resourceVersionMatch=NotOlderThan&", "").replace("&resourceVersionMatch=NotOlderThan", "");
      const response = await transport.request({ ...request, path });
      const accesses = accessesOf(request.method, request.path).filter((access) => !everybodys.includes(access));
      for (const access of accesses) (response.status === 403 ? forbidden : used).add(access);
      return response;
    },
  });
  const onUpgrade = (path: string): void => {
    for (const verb of ["GET", "POST"]) for (const access of accessesOf(verb, path)) used.add(access);
  };
  const granted = farManifest(configOf(input), "far-1").objects.map(({ object }) => object);
  const account = granted.find(({ kind }) => kind === "ServiceAccount")?.metadata;
  const user = { user: `system:serviceaccount:${account?.namespace}:${account?.name}`, groups };
  const vk = { apiVersion: "v1", kind: "Namespace", metadata: { name: "vk" } };
  const rig = await startFarRig({ user, wrap, onUpgrade, objects: [vk, ...granted, ...objects] });
  const home = new FakeHome();
  const host = {
    findPod: home.findPod.bind(home),
    onConfigChanged: home.onConfigChanged.bind(home),
    resolvePod: home.resolvePod.bind(home),
  };
  const node = await rig.open({ config: input, host });
  return {
    rig,
    home,
    node,
    used,
    forbidden,
    async [Symbol.asyncDispose]() {
      await node[Symbol.asyncDispose]();
      await rig[Symbol.asyncDispose]();
    },
  };
}

/** How an API server authorizes a request, as `verb resource`. Source: kubernetes.io, "Determine the Request Verb". */
function accessesOf(method: string, path: string): readonly string[] {
  const url = new URL(path, "https://far");
  const match = /^\/(?:api|apis\/([^/]+))\/[^/]+\/(?:namespaces\/[^/]+\/)?([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?/.exec(
    url.pathname.replace(/\/namespaces$/, "/namespaces"),
  );
  const [, group, resource = "", name, subresource] = match ?? [];
  const isWatch = url.searchParams.get("watch") === "true" || url.searchParams.get("watch") === "1";
  const byMethod: Readonly<Record<string, string>> = { POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" };
  const verb = byMethod[method] ?? (isWatch ? "watch" : name === undefined ? "list" : "get");
  const withGroup = group === undefined || group === "authorization.k8s.io" ? resource : `${resource}.${group}`;
  return [[verb, [withGroup, subresource].filter(Boolean).join("/")].join(" ")];
}

function granted(input: object): readonly string[] {
  return farRules(configOf(input)).flatMap(({ apiGroups, resources: names, verbs }) =>
    names.flatMap((name) => verbs.flatMap((verb) => apiGroups.map((group) => `${verb} ${group === "" ? name : `${name}.${group}`}`))),
  );
}

/** Uses a pod as people do: volumes, changes, logs, commands, events, figures, deletion. */
async function useEverything({ rig, home, node }: RightsRig): Promise<void> {
  const { provider } = node;
  const requests = (cpu: string): object => ({ requests: { cpu, memory: "64Mi" } });
  const pod = homePod(
    {
      containers: [{ name: "main", image: "web", resources: requests("500m") }],
      volumes: [
        { name: "config", configMap: { name: "settings" } },
        { name: "keys", secret: { secretName: "keys" } },
      ],
    },
    { namespace: "shop" },
  );
  const ref = podRef(pod);
  home.put("ConfigMap", "settings", { data: { a: "1" } });
  home.put("Secret", "keys", { data: { a: "MQ==" } });
  home.addPod(pod);
  await provider.createPod(pod, home.resolvePod(ref), signal);
  const farPod = async (): Promise<Pod> => {
    const { items } = await rig.client.list(resources.pods, { labelSelector: "virtual-kubelet.io/pod-uid" }, { signal });
    return items[0] ?? {};
  };
  const { namespace, name } = (await farPod()).metadata ?? {};
  const binding = { apiVersion: "v1", kind: "Binding", metadata: { name }, target: { kind: "Node", name: "a" } };
  await rig.client.raw("POST", `/api/v1/namespaces/${namespace}/pods/${name}/binding`, binding, { signal });
  await reportFar(rig.client, await farPod(), { phase: "Running" });

  home.put("ConfigMap", "settings", { data: { a: "2" } });
  home.put("Secret", "keys", { data: { a: "Mg==" } });
  await rig.clock.advance(60_000);

  const resized = structuredClone(pod);
  for (const container of resized.spec?.containers ?? []) container.resources = requests("1");
  if (resized.spec) resized.spec.ephemeralContainers = [{ name: "debug", image: "sh" }];
  await provider.updatePod?.(
    { ...resized, metadata: { ...resized.metadata, labels: { changed: "yes" } } },
    home.resolvePod(ref),
    signal,
    {} as never,
  );

  const io = (): AttachIO => ({
    stdin: undefined,
    stdout: new PassThrough(),
    stderr: undefined,
    tty: false,
    resizes: (async function* () {})(),
  });
  await Promise.allSettled([
    provider.getContainerLogs?.(ref, "main", { follow: false, previous: false, timestamps: false }, signal),
    provider.runInContainer?.(ref, "main", ["sh"], io(), signal),
    provider.attachToContainer?.(ref, "main", io(), signal),
    provider.portForward?.(ref, 80, new PassThrough(), signal),
    provider.getStatsSummary?.(signal),
    provider.configureNode?.(signal),
    provider.ping?.(signal),
    provider.checkAccess?.(signal),
  ]);

  const claim = { namespace: "shop", name: "data", uid: "uid-of-data" };
  const wish = {
    name: "pvc-1",
    provisioner: "kubernetes.virtual-kubelet.io",
    claim,
    parameters: {},
    accessModes: ["ReadWriteOnce"],
    storage: "1Gi",
  };
  const source = await provider.provisionVolume?.(wish, signal);
  if (source) await provider.removeVolume?.({ name: wish.name, provisioner: wish.provisioner, claim, source }, signal);

  home.removePod(pod);
  await provider.deletePod(ref, { gracePeriodSeconds: 0 }, signal);
  await endFarPods(rig.client);
  await vi.waitFor(async () => {
    await rig.clock.advance(60_000);
    expect(await rig.client.list(resources.secrets, { labelSelector: "virtual-kubelet.io/node" }, { signal })).toMatchObject({ items: [] });
  });
}

/** Plays the far kubelet, which lets go of pods when their containers have ended. */
async function endFarPods(client: KubeClient): Promise<void> {
  for (const { metadata } of (await client.list(resources.pods, {}, { signal })).items) {
    const name = { namespace: metadata?.namespace, name: metadata?.name ?? "" };
    await client.delete(resources.pods, name, { gracePeriodSeconds: 0 }, { signal });
  }
}

test("in one namespace every printed right is used, and no request is forbidden", async () => {
  const input = {
    namespaces: { mode: "one", name: "vk" },
    node: { capacity: "quota" },
    usage: "metrics-api",
  };
  await using rights = await open(input, [farNode("a"), quota("q", { "requests.cpu": "4", "requests.memory": "8Gi", pods: "9" })]);

  await useEverything(rights);

  expect([...rights.forbidden]).toEqual([]);
  expect([...rights.used].toSorted()).toEqual([...granted(input)].toSorted());
});

test("in several namespaces every printed right is used, and no request is forbidden", async () => {
  const input = {
    namespaces: { mode: "prefix", prefix: "home-", create: true },
    node: { capacity: "nodes", others: "subtract" },
    usage: "kubelets",
  };
  await using rights = await open(input, [farNode("a")]);

  await useEverything(rights);

  expect([...rights.forbidden]).toEqual([]);
  expect([...rights.used].toSorted()).toEqual([...new Set(granted(input))].toSorted());
});

test("a virtual node for a single far node also reads that node by itself", async () => {
  const input = { namespaces: { mode: "one", name: "vk" }, node: { capacity: "nodes" }, scheduling: { farNode: "gone" }, usage: "none" };
  await using rights = await open(input);

  await expect(rights.node.provider.ping?.(signal)).rejects.toThrow("the far cluster does not have it");

  expect([...rights.forbidden]).toEqual([]);
  expect(rights.used).toContain("get nodes");
  expect(granted(input)).toContain("get nodes");
});
