import { systemClock, systemRandom } from "@virtual-kubelet/clock";
import {
  createHttpTransport,
  createKubeClient,
  loadCredentials,
  noMetrics,
  Reflector,
  resource,
  resources,
  silentLogger,
  type KubernetesObject,
  type Pod,
} from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { exitCodes } from "virtual-kubelet";
import { ProgramRig, soon } from "./support/program-rig.ts";
import { ProxyProcess } from "./support/proxy-process.ts";

const signal = new AbortController().signal;
const selfSubjectReviews = resource<KubernetesObject & { readonly status?: { readonly userInfo?: object } }>({
  group: "authentication.k8s.io",
  version: "v1",
  plural: "selfsubjectreviews",
  kind: "SelfSubjectReview",
  namespaced: false,
});

/** Port of the API server. Its host name is known only to the proxy. */
function portOf({ server }: ProgramRig): string {
  return new URL(server.url).port;
}

/** Replaces the rig's kubeconfig by one for that host name, with additional fields of cluster and user. */
async function writeKubeconfig(rig: ProgramRig, cluster: object, user: object = {}): Promise<string> {
  const file = join(rig.folder, "kubeconfig");
  const config = JSON.parse(rig.server.kubeconfig()) as { clusters: { cluster: object }[]; users: { user: object }[] };
  for (const entry of config.clusters) Object.assign(entry.cluster, { server: `https://kubernetes.default:${portOf(rig)}` }, cluster);
  for (const entry of config.users) Object.assign(entry.user, user);
  await writeFile(file, JSON.stringify(config));
  return file;
}

async function runPod(rig: ProgramRig, name: string): Promise<void> {
  await rig.createPod(name, "vk-1");
  await rig.podIsRunning(name);
}

test("a node joins and runs pods through the kubeconfig's proxy, which asks for a user, and survives the proxy's restart", async () => {
  await using rig = await ProgramRig.open();
  const env = { PROXY_USER: "ann:p@ss" };
  const first = await ProxyProcess.start(env);
  const { port } = first;
  await writeKubeconfig(rig, { "proxy-url": `http://ann:p%40ss@127.0.0.1:${port}` });
  await using program = rig.run("--provider mock --nodename vk-1");

  await rig.nodeIsReady("vk-1");
  await runPod(rig, "one");
  await eventually(() => expect(first.asked).toEqual([`CONNECT kubernetes.default:${portOf(rig)} 200`]), soon);
  await first[Symbol.asyncDispose]();
  await using second = await ProxyProcess.start({ ...env, PROXY_PORT: String(port) });
  await runPod(rig, "two");
  program.kill("SIGTERM");

  expect(await program.exit).toBe(exitCodes.ok.code);
  await eventually(() => expect(second.asked).toEqual([`CONNECT kubernetes.default:${portOf(rig)} 200`]), soon);
  expect(program.stderr).not.toContain("p@ss");
  expect(program.stderr).not.toContain("p%40ss");
});

test("a node joins through HTTPS_PROXY", async () => {
  await using rig = await ProgramRig.open();
  await using proxy = await ProxyProcess.start();
  await writeKubeconfig(rig, {});
  await using program = rig.run("--provider mock --nodename vk-1", {
    env: { HTTPS_PROXY: `127.0.0.1:${proxy.port}`, NO_PROXY: "example.com,10.0.0.0/8" },
  });

  await rig.nodeIsReady("vk-1");
  await runPod(rig, "web");

  await eventually(() => expect(proxy.asked).toEqual([`CONNECT kubernetes.default:${portOf(rig)} 200`]), soon);
});

test("a proxy that refuses its user is told to the operator, without the password", async () => {
  await using rig = await ProgramRig.open();
  await using proxy = await ProxyProcess.start({ PROXY_USER: "ann:right" });
  const kubeconfig = await writeKubeconfig(rig, { "proxy-url": `http://ann:wrong@127.0.0.1:${proxy.port}` });
  await using transport = createHttpTransport({ credentials: await loadCredentials({ kubeconfig, env: {}, clock: systemClock }) });

  const error: unknown = await createKubeClient(transport)
    .raw("GET", "/version", undefined, { signal })
    .catch((thrown: unknown) => thrown);

  expect(String(error)).toContain(
    `proxy http://127.0.0.1:${proxy.port}: it answered CONNECT kubernetes.default:${portOf(rig)} with 407 Proxy Authentication Required, expected 200; its user or password is wrong`,
  );
  await eventually(() => expect(proxy.asked).toEqual([`CONNECT kubernetes.default:${portOf(rig)} 407`]), soon);
});

test("requests and watches through a proxy are another user's where the kubeconfig says so", async () => {
  await using rig = await ProgramRig.open();
  await using proxy = await ProxyProcess.start();
  const who = {
    as: "ann",
    "as-uid": "17",
    "as-groups": ["system:masters", "dev"],
    "as-user-extra": { "example.com/Scopes": ["view", "edit"] },
  };
  const kubeconfig = await writeKubeconfig(rig, { "proxy-url": `http://127.0.0.1:${proxy.port}` }, who);
  await using transport = createHttpTransport({ credentials: await loadCredentials({ kubeconfig, env: {}, clock: systemClock }) });
  const client = createKubeClient(transport);

  const { status } = await client.create(selfSubjectReviews, {}, { signal });
  expect(status?.userInfo).toEqual({
    username: "ann",
    uid: "17",
    groups: ["system:masters", "dev", "system:authenticated"],
    extra: { "example.com/scopes": ["view", "edit"] },
  });

  const stop = new AbortController();
  const parts = { clock: systemClock, random: systemRandom, logger: silentLogger, metrics: noMetrics };
  const pods = new Reflector<Pod>({ client, resource: resources.pods, pool: "quiet", ...parts });
  const running = pods.run(stop.signal);
  await pods.synced;
  const spec = { containers: [{ name: "main", image: "nginx" }] };
  await rig.client.create(resources.pods, { metadata: { namespace: "default", name: "web" }, spec }, { signal });
  await eventually(() => expect(pods.store.getByName("default", "web")).toBeDefined(), soon);
  stop.abort();
  await running;
});

test("a user without rights who is impersonated has none", async () => {
  await using rig = await ProgramRig.open();
  const kubeconfig = await writeKubeconfig(rig, { server: rig.server.url }, { as: "ann", "as-groups": ["dev"] });
  await using transport = createHttpTransport({ credentials: await loadCredentials({ kubeconfig, env: {}, clock: systemClock }) });

  await expect(createKubeClient(transport).list(resources.pods, {}, { signal })).rejects.toThrow('User "ann" cannot list resource "pods"');
});
