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
    ['{"kind":"Deployment"}'],
    /--filename: "pod\.yaml": kind is "Deployment", expected Pod, ConfigMap or Secret/,
  ],
  ["no pod at all", [secret], /no object of kind Pod, expected one/],
  ["what is no YAML", ["a: ["], /--filename: "pod\.yaml": \S/],
  ["what is no object", ["- 1"], /holds \[1\], expected objects/],
])("a file with %s is told in one line", async (_what, documents, message) => {
  const { code, out, err } = await plan(documents);

  expect([code, out]).toEqual([78, ""]);
  expect(err).toMatch(message);
  expect(err.trim().split("\n")).toHaveLength(1);
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
