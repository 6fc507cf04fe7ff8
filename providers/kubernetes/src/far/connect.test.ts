import { systemClock } from "@virtual-kubelet/clock";
import { isForbidden, isInvalidInput } from "@virtual-kubelet/errdefs";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { noMetrics, resources, type Metrics } from "@virtual-kubelet/kube-client";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type ConnectOptions } from "./connect.ts";
import { farMetrics } from "./far-metrics.ts";

const { signal } = new AbortController();
const options: ConnectOptions = { env: {}, clock: systemClock, metrics: noMetrics };
let server: ApiServer;
let folder: string;
let kubeconfig: string;
let copies = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "far-connect-"));
  kubeconfig = join(folder, "kubeconfig");
  server = await startApiServer({ controllers: false, serviceAccounts: true });
  await server.writeKubeconfig(kubeconfig);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** Writes a changed copy of the kubeconfig. */
async function copyWith(what: string | RegExp, replacement: string): Promise<string> {
  const text = JSON.stringify(JSON.parse(await readFile(kubeconfig, "utf8")))
    .replaceAll(/":/g, '": ')
    .replaceAll(/,"/g, ', "');
  const file = join(folder, `copy-${++copies}`);
  await writeFile(file, text.replace(what, replacement));
  return file;
}

test("the kubeconfig leads to the far cluster", async () => {
  await using far = await connect({ kubeconfig }, options);

  expect((await far.client.list(resources.namespaces, {}, { signal })).items.map(({ metadata }) => metadata?.name)).toContain("default");
});

test("the context's namespace is known", async () => {
  const named = await copyWith('"namespace": "default"', '"namespace": "team-a"');
  const unnamed = await copyWith(', "namespace": "default"', "");

  await using one = await connect({ kubeconfig: named }, options);
  await using other = await connect({ kubeconfig: unnamed }, options);

  expect([one.namespace, other.namespace]).toEqual(["team-a", undefined]);
});

test("KUBECONFIG, a service account and the home folder never lead anywhere", async () => {
  const env = { KUBECONFIG: kubeconfig, KUBERNETES_SERVICE_HOST: "10.96.0.1", HOME: folder };

  await expect(connect({}, { ...options, env })).rejects.toSatisfy(
    (error) => isInvalidInput(error) && String(error).includes("cluster.kubeconfig is not set"),
  );
});

test("a kubeconfig that is not there is named by its setting, not by the home cluster's flag", async () => {
  const absent = join(folder, "absent");

  await expect(connect({ kubeconfig: absent }, options)).rejects.toSatisfy(
    (error) => isInvalidInput(error) && String(error).includes(`cluster.kubeconfig: there is no file ${absent}`),
  );
});

test("a stream is read as it comes, and a refusal is an error as the client's", async () => {
  await using far = await connect({ kubeconfig }, options);
  const answer = await far.stream("/api/v1/namespaces/default", signal);
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);

  expect(JSON.parse(Buffer.concat(chunks).toString())).toMatchObject({ kind: "Namespace" });
  await expect(far.stream("/api/v1/namespaces/absent", signal)).rejects.toThrow(
    'GET /api/v1/namespaces/absent: namespaces "absent" not found',
  );
});

test("the target of an upgrade has the address, the path and the credentials", async () => {
  await using far = await connect({ kubeconfig }, options);
  const target = await far.upgradeTarget("/api/v1/namespaces/default/pods/web/exec?command=sh", signal);

  expect(String(target.url)).toBe(`${server.url}/api/v1/namespaces/default/pods/web/exec?command=sh`);
  expect(target.headers?.["authorization"]).toMatch(/^Bearer ./);
  const { agent } = target;
  const [response] = await once(get(target.url, { agent, headers: { ...target.headers } }), "response");
  (response as IncomingMessage).destroy();
  // The pod does not exist, which only somebody with rights is told.
  expect((response as IncomingMessage).statusCode).toBe(404);
});

test("a refused token is read again, once", async () => {
  const token = join(folder, "token");
  const file = await copyWith(/"token": "[^"]*"/, `"tokenFile": ${JSON.stringify(token)}`);
  await writeFile(token, "old");
  await using far = await connect({ kubeconfig: file }, options);
  const first = await far.upgradeTarget("/", signal);
  await writeFile(token, "new");
  const unasked = await far.upgradeTarget("/", signal);
  const second = await far.upgradeTarget("/", signal, first);
  const third = await far.upgradeTarget("/", signal, first);

  const tokens = [first, unasked, second, third].map(({ headers }) => headers?.["authorization"]);
  expect(tokens).toEqual(["Bearer old", "Bearer old", "Bearer new", "Bearer new"]);
});

test("the far client's metrics have names of their own", async () => {
  const counted = new Set<string>();
  const metrics: Metrics = { ...noMetrics, count: (name) => void counted.add(name), observe: (name) => void counted.add(name) };
  await using far = await connect({ kubeconfig }, { ...options, metrics: farMetrics(metrics) });
  await far.client.get(resources.namespaces, { name: "default" }, { signal }).catch((error: unknown) => isForbidden(error));

  expect([...counted]).toEqual(["vk_kubernetes_far_rest_client_requests_total", "vk_kubernetes_far_rest_client_request_duration_seconds"]);
});
