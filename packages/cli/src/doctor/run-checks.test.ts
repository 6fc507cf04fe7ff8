import { systemClock } from "@virtual-kubelet/clock";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runProgram } from "../cli.ts";
import { neededAccess } from "../manifests/access-rights.ts";
import { TextOutput, testContext } from "../test-support/test-context.ts";
import type { Finding } from "./finding.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk-doctor-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const words = ["doctor", "--provider", "mock", "--kubelet-port", "1", "--health-addr", "off"];
const context = (given: Parameters<typeof testContext>[1] = {}) =>
  testContext(systemClock, { cwd: folder, homeDir: folder, env: { HOME: folder }, ...given });

async function diagnose(...more: readonly string[]): Promise<{ readonly code: number; readonly findings: readonly Finding[] }> {
  const own = context();
  const code = await runProgram([...words, "-o", "json", ...more], own);
  return { code, findings: (JSON.parse(own.stdout.text) as { findings: Finding[] }).findings };
}

test("every check that the guide names exists", async () => {
  const guide = await readFile(fileURLToPath(new URL("../../../../docs/guides/troubleshooting.md", import.meta.url)), "utf8");
  const { findings } = await diagnose();
  const kubeletApi = { tokenReviews: true, subjectAccessReviews: true, publishedClientCa: true, servingCertificate: true };
  const needs = neededAccess({ nodes: [{ name: "vk", onShutdown: "keep" }], readsClusterId: true, kubeletApi });
  const known = new Set([
    ...findings.map(({ check }) => check),
    ...needs.map(({ resource, subresource }) => `permissions.${[resource, subresource].filter(Boolean).join("/")}`),
  ]);

  const named = [...guide.matchAll(/`((?:configuration|cluster|permissions|provider|node|certificate|kubelet)\.[a-z/-]+)`/g)].map(
    ([, name = ""]) => name,
  );

  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

test("all checks are made although the kubeconfig is missing, and those that need it say so", async () => {
  const { code, findings } = await diagnose();

  expect(code).toBe(1);
  expect(findings.filter(({ status }) => status === "fail").map(({ check }) => check)).toEqual(["cluster.kubeconfig"]);
  expect(new Set(findings.filter(({ status }) => status === "skip").map(({ message }) => message))).toEqual(
    new Set(["needs cluster.kubeconfig", "needs kubelet.port: the program makes its certificate when it starts"]),
  );
});

test("nodes that come and go are not looked for by the name in the settings, which no Node has", async () => {
  await writeFile(
    join(folder, "fleet.mjs"),
    `export const provider = { name: "fleet", capabilities: {}, configSchema: { safeParse: (data) => ({ success: true, data }) },
       create: () => ({ ping: async () => {} }), discoverNodes: () => ({ discover: async function* () {}, configOf: () => ({}) }) };`,
  );
  const { findings } = await diagnose("--provider", "./fleet.mjs", "--nodename", "far");

  expect(findings.filter(({ message }) => message.includes("kubectl get nodes -l virtual-kubelet.io/discovered-by=far"))).toHaveLength(6);
  expect(findings.find(({ check }) => check === "provider.ping")).toMatchObject({ status: "pass" });
});

test("with invalid settings every check of a node is skipped", async () => {
  const { code, findings } = await diagnose("--os", "lnux");

  expect(code).toBe(1);
  expect(findings[0]).toMatchObject({
    check: "configuration.settings",
    status: "fail",
    message: expect.stringContaining("did you mean linux?"),
  });
  expect(findings.slice(1).filter(({ message }) => message !== "needs configuration.settings")).toEqual([]);
});

test("the same flags are in the commands that repair", async () => {
  const { findings } = await diagnose("--nodename", "it's mine", "--os", "lnux");

  expect(findings[0]?.repair.at(-1)).toBe(
    `virtual-kubelet config validate --provider mock --kubelet-port 1 --health-addr off --nodename 'it'\\''s mine' --os lnux`,
  );
});

test("colors are for terminals only, and not with NO_COLOR", async () => {
  const shown = async (isTTY: boolean, env: Record<string, string> = {}): Promise<string> => {
    const stdout = new TextOutput(isTTY);
    await runProgram(words, { ...context({ env: { HOME: folder, ...env } }), stdout });
    return stdout.text;
  };

  expect(await shown(true)).toContain("\u001b[31mFAIL\u001b[0m");
  expect(await shown(false)).not.toContain("\u001b");
  expect(await shown(true, { NO_COLOR: "1" })).not.toContain("\u001b");
});

test("an interruption ends it at once, while the API server does not answer", async () => {
  const silent = createServer();
  using _closing = { [Symbol.dispose]: () => void silent.close() };
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const server = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const kubeconfig = {
    clusters: [{ name: "c", cluster: { server } }],
    users: [{ name: "u", user: { token: "t" } }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  };
  await writeFile(join(folder, "kubeconfig"), JSON.stringify(kubeconfig));
  const stop = new AbortController();
  const running = runProgram([...words, "--kubeconfig", "kubeconfig"], context({ signal: stop.signal }));
  const [socket] = (await once(silent, "connection")) as [Socket];
  using _leaving = { [Symbol.dispose]: () => void socket.destroy() };

  stop.abort(new Error("received SIGINT"));

  expect(await running).toBe(0);
});
