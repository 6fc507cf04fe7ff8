import { VirtualClock } from "@virtual-kubelet/clock";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { runProgram } from "../cli.ts";
import { testContext } from "../test-support/test-context.ts";
// Loaded before a test's time runs.
import "../plan/admit-pods.ts";

// Each plan starts an API server in memory, which a busy machine takes its time for.
vi.setConfig({ testTimeout: 30_000 });

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk-plan-"));
  await writeFile(
    join(folder, "provider.mjs"),
    `export const provider = {
      name: "paper",
      capabilities: { env: true, restarts: true },
      configSchema: { safeParse: (data) => ({ success: true, data }) },
      create() {},
      async plan(pod, resolved, { nodeName, clusterId, config }, signal) {
        const { name, uid, namespace } = pod.metadata;
        const env = await resolved.environment("main", signal);
        const body = { name, uid, namespace, nodeName, clusterId, policy: pod.spec.restartPolicy, env, apiToken: config.token };
        return [
          { purpose: "look for it", method: "GET", path: "/pods", note: "each time" },
          { purpose: "create it", method: "POST", path: "/pods", headers: { Authorization: "Bearer abcdefgh" }, body },
        ];
      },
    };`,
  );
  await writeFile(
    join(folder, "silent.mjs"),
    `import { provider as paper } from "./provider.mjs"; export const provider = { ...paper, plan: undefined };`,
  );
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const base64 = (text: string): string => Buffer.from(text).toString("base64");

const pod = (container: object = {}, spec: object = {}): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "shop" },
    spec: { containers: [{ name: "main", image: "a", ...container }], ...spec },
  });
const secret = JSON.stringify({ kind: "Secret", metadata: { name: "db", namespace: "shop" }, data: { password: base64("hunter22") } });
const password = { env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "db", key: "password" } } }] };

/** Plans what a file of these documents holds. */
async function plan(documents: readonly string[], flags: readonly string[] = []): Promise<{ code: number; out: string; err: string }> {
  await writeFile(join(folder, "pod.yaml"), documents.join("\n---\n"));
  const context = testContext(new VirtualClock(), { cwd: folder });
  const words = ["plan", "-f", "pod.yaml", "--provider", "./provider.mjs", "--nodename", "n1", ...flags];
  const code = await runProgram(words, context);
  return { code, out: context.stdout.text, err: context.stderr.text };
}

test("the requests are shown as they go over the wire, with the defaults an API server gives, and the same each time", async () => {
  const result = await plan([pod()], ["--cluster-id", "c1"]);

  expect(result).toEqual(await plan([pod()], ["--cluster-id", "c1"]));
  expect(result.err).toBe("");
  expect(result.code).toBe(0);
  expect(result.out.split("\n").slice(0, 8)).toEqual([
    "# pod shop/web on node n1: provider paper sends 2 requests",
    "# (the variables of the cluster's services (KUBERNETES_SERVICE_HOST and the like) are left out)",
    "",
    "# 1. look for it; each time",
    "GET /pods",
    "",
    "# 2. create it",
    "POST /pods",
  ]);
  expect(result.out).toContain('"policy": "Always"');
  expect(result.out).toMatch(/"uid": "00000000-0000-4000-8000-\d{12}"/);
});

test("no secret is shown: not the pod's, not the provider's, not a header's", async () => {
  await writeFile(join(folder, "config.json"), '{"token":"sesame22"}');
  const { code, out } = await plan([pod(password), secret], ["--provider-config", "config.json"]);

  expect(code).toBe(0);
  expect(out).toContain('"value": "[secret shop/db: password]"');
  expect(out).toContain('"apiToken": "[redacted]"');
  expect(out).toContain("Authorization: [redacted]");
  expect(out).not.toMatch(/hunter22|aHVudGVyMjI|sesame22|abcdefgh/);
});

test("every refused field is named, and the exit code says it", async () => {
  const probe = { livenessProbe: { exec: { command: ["true"] } } };
  const { code, out } = await plan([pod(probe, { hostNetwork: true })]);

  expect(code).toBe(1);
  expect(out).toBe(
    [
      "# pod shop/web: provider paper does not run it",
      "  spec.containers[0].livenessProbe: provider paper does not support probes",
      "  spec.hostNetwork: provider paper does not support the host's network",
      "",
    ].join("\n"),
  );
});

test("with -o json a program can read it, refused pods beside the others", async () => {
  const { code, out } = await plan([pod(), pod({}, { hostPID: true }).replace('"web"', '"other"')], ["-o", "json"]);

  expect(code).toBe(1);
  expect(JSON.parse(out)).toMatchObject([
    { pod: "shop/web", node: "n1", provider: "paper", refused: [], requests: [{ method: "GET" }, { method: "POST" }] },
    { pod: "shop/other", refused: [{ fieldPath: "spec.hostPID" }], requests: [] },
  ]);
});

test.each<[string, readonly string[], RegExp]>([
  [
    "an object of another kind",
    ['{"kind":"Service"}'],
    /--filename: "pod\.yaml": kind is "Service", expected a Pod, or a workload that makes pods: Deployment, ReplicaSet, /,
  ],
  ["no pod at all", [secret], /no pod, expected a Pod, or a workload/],
  ["what is no YAML", ["a: ["], /--filename: "pod\.yaml": \S/],
  ["what is no object", ["- 1"], /holds \[1\], expected objects/],
])("a file with %s is told in one line", async (_what, documents, message) => {
  const { code, out, err } = await plan(documents);

  expect([code, out]).toEqual([78, ""]);
  expect(err).toMatch(message);
  expect(err.trim().split("\n")).toHaveLength(1);
});

const labels = { app: "web" };
const template = { metadata: { labels }, spec: { containers: [{ name: "main", image: "a", ...password }] } };
const jobTemplate = { ...template, spec: { ...template.spec, restartPolicy: "OnFailure" } };

test.each<[kind: string, apiVersion: string, spec: object, name: RegExp]>([
  ["Deployment", "apps/v1", { replicas: 3, selector: { matchLabels: labels }, template }, /^web-[a-z0-9]+-[a-z0-9]{5}$/],
  ["ReplicaSet", "apps/v1", { selector: { matchLabels: labels }, template }, /^web-[a-z0-9]{5}$/],
  ["StatefulSet", "apps/v1", { serviceName: "web", selector: { matchLabels: labels }, template }, /^web-0$/],
  ["DaemonSet", "apps/v1", { selector: { matchLabels: labels }, template }, /^web-[a-z0-9]{5}$/],
  ["Job", "batch/v1", { template: jobTemplate }, /^web-[a-z0-9]{5}$/],
  ["CronJob", "batch/v1", { schedule: "0 3 * * *", jobTemplate: { spec: { template: jobTemplate } } }, /^web-\d+-[a-z0-9]{5}$/],
])("of a %s its first pod is planned, as its controllers and the API server make it", async (kind, apiVersion, spec, name) => {
  const workload = JSON.stringify({ apiVersion, kind, metadata: { name: "web", namespace: "shop" }, spec });
  const { code, out, err } = await plan([workload, secret]);

  expect([code, err]).toEqual([0, ""]);
  const [, planned = ""] = /^# pod shop\/(\S+) on node n1: provider paper sends 2 requests$/m.exec(out) ?? [];
  expect(planned).toMatch(name);
  expect(out).toContain(`# (the first pod of ${kind} shop/web; those of the same template differ only in names)`);
  expect(out).toContain(`"name": "${planned}"`);
  expect(out).toContain('"value": "[secret shop/db: password]"');
  expect(await plan([workload, secret])).toEqual({ code, out, err });
});

test("what makes no pods is left out, and named", async () => {
  const service = '{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"}}';
  const { code, out, err } = await plan([service, pod()]);

  expect([code, err]).toEqual([0, "virtual-kubelet: plan: Service web is left out, because it makes no pods\n"]);
  expect(out).toMatch(/^# pod shop\/web on node n1/);
});

test("a workload that no API server takes is told in its words", async () => {
  const spec = { selector: { matchLabels: { app: "other" } }, template };
  const { code, err } = await plan([
    JSON.stringify({ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace: "shop" }, spec }),
  ]);

  expect(code).toBe(1);
  expect(err).toMatch(/^virtual-kubelet: Deployment shop\/web: .*`selector` does not match template `labels`/);
});

test("a pod that no API server takes is told in its words", async () => {
  const { code, err } = await plan([pod({ image: "" })]);

  expect(code).toBe(1);
  expect(err).toMatch(/^virtual-kubelet: pod shop\/web: .*spec\.containers\[0\]\.image: Required value/);
});

test("a provider that does not tell its plans says so", async () => {
  const { code, err } = await plan([pod()], ["--provider", "./silent.mjs"]);

  expect([code, err]).toEqual([
    1,
    'virtual-kubelet: plan a pod with provider paper: it cannot show its requests; expected a method "plan"\n',
  ]);
});
