import { VirtualClock } from "@virtual-kubelet/clock";
import { createKubeClient, silentLogger } from "@virtual-kubelet/kube-client";
import { ScriptedTransport } from "@virtual-kubelet/kube-client/testing";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadSettings } from "../config/load-settings.ts";
import { parseFlags } from "../command-line/flag-parser.ts";
import { lockNode } from "../nodes/node-lock.ts";
import { planNodes } from "../nodes/plan-nodes.ts";
import { testContext } from "../test-support/test-context.ts";
import { dryRun, type DryRun } from "./dry-run.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk-dry-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** A dry run of node vk as a user, on an API server that has the objects by their paths. */
async function dryRunAs(username: string, objects: Readonly<Record<string, object>> = {}, words = ""): Promise<DryRun> {
  const context = testContext(new VirtualClock(), { cwd: folder, homeDir: folder });
  const line = `--provider mock --nodename vk --identity one --cert-dir pki ${words}`.trim();
  const loaded = await loadSettings(parseFlags("run", line.split(" ")), context);
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview", status: { userInfo: { username } } };
  const answers: Readonly<Record<string, object>> = {
    "POST /apis/authentication.k8s.io/v1/selfsubjectreviews": review,
    "GET /version": { gitVersion: "v1.36.3" },
    ...objects,
  };
  await using transport = new ScriptedTransport(({ method, path }) => {
    const body = answers[`${method} ${path}`];
    return body ? { body } : { status: 404, body: { kind: "Status", code: 404, message: "not found" } };
  });
  const server = { client: createKubeClient(transport), server: "https://192.0.2.1" };
  return await dryRun(await planNodes(loaded, context), loaded, server, context);
}

const node = { apiVersion: "v1", kind: "Node", metadata: { name: "vk", uid: "u", resourceVersion: "1" }, spec: {} };
const lease = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { namespace: "kube-node-lease", name: "vk", annotations: { "virtual-kubelet.io/instance": "one" } },
  spec: {},
};
const leasePath = "GET /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/vk";

test("the node's own user is told which labels and taints it may not write", async () => {
  const words = "--label node-restriction.kubernetes.io/team=a --label example.com/b=c";

  const { text, isClear } = await dryRunAs("system:node:vk", { "GET /api/v1/nodes/vk": node }, words);

  expect(isClear).toBe(true);
  expect(text).toContain("\nIdentity: system:node:vk\n");
  expect(text).toMatch(/^ {2}labels: .*node-restriction\.kubernetes\.io\/team.*: omitted, because system:node:vk may not set them; /m);
  expect(text).toContain("  taints: those of the node are kept, because system:node:vk may not change them; ");
  expect(text).toContain("example.com/b: c");
  expect(text).not.toContain("node-restriction.kubernetes.io/team: a");
});

test("who may write all is told of all", async () => {
  const words = "--label node-restriction.kubernetes.io/team=a";

  const { text, isClear } = await dryRunAs("admin", { "GET /api/v1/nodes/vk": node }, words);

  expect(isClear).toBe(true);
  expect(text).not.toMatch(/^ {2}(labels|taints|rights|host): /m);
  expect(text).toContain("node-restriction.kubernetes.io/team: a");
});

test("another node's user is in the way", async () => {
  const { text, isClear } = await dryRunAs("system:node:other");

  expect(isClear).toBe(false);
  expect(text).toContain("  rights: the API server refuses node vk to system:node:other, another node's user\n");
});

test("a program on this host that runs the node is in the way, also where the lease is this instance's", async () => {
  const signal = new AbortController().signal;
  const options = { nodeName: "vk", directory: join(folder, "pki"), pid: 4711, standby: false, clock: new VirtualClock() };
  await using _held = await lockNode({ ...options, logger: silentLogger, signal });

  const refused = await dryRunAs("admin", { [leasePath]: lease });
  const standsBy = await dryRunAs("admin", { [leasePath]: lease }, "--standby");

  expect(refused.isClear).toBe(false);
  expect(refused.text).toContain(
    'held by this instance ("one"), last renewed never; process 4711 holds it; the run would end with exit code 78\n',
  );
  expect(refused.text).toContain("  host: process 4711 on this host is already running the node; the run would end with exit code 78\n");
  expect(standsBy.isClear).toBe(true);
  expect(standsBy.text).toContain("  host: process 4711 on this host is already running the node; this instance would stand by\n");
});

test.for([
  ["one", "", "would be taken over at once"],
  ["one", "--group lab", "would be taken over when it expires"],
  ["two", "--group lab", "this instance would leave it to that one; otherwise, it would be taken over when it expires"],
] as const)("a lease of %s (%s) %s", async ([holder, words, expected]) => {
  const held = { ...lease, metadata: { ...lease.metadata, annotations: { "virtual-kubelet.io/instance": holder } } };
  const renewed = { ...held, spec: { leaseDurationSeconds: 40, renewTime: new Date(new VirtualClock().now()).toISOString() } };

  const { text, isClear } = await dryRunAs("admin", { [leasePath]: renewed }, words);

  expect(text).toContain(expected);
  expect(isClear).toBe(true);
});
