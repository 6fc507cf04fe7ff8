import { systemClock } from "@virtual-kubelet/clock";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runProgram } from "../cli.ts";
import type { takeStatus } from "../debug/status-document.ts";
import { answerStatus } from "../debug/status-routes.ts";
import { openStatusSocket } from "../debug/status-socket.ts";
import { nodeInspection, podInspection, selectPage } from "../test-support/inspections.ts";
import { testContext } from "../test-support/test-context.ts";

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "vk-status-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

async function status(words: string, env: Readonly<Record<string, string>>): Promise<{ code: number; out: string; err: string }> {
  const context = testContext(systemClock, { env, cwd: env["STATE_DIRECTORY"] ?? "/" });
  const code = await runProgram(["status", ...words.split(" ").filter(Boolean)], context);
  return { code, out: context.stdout.text, err: context.stderr.text };
}

/** Serves a program that runs these nodes with this number of pods each. */
async function serve(state: string, { nodes = ["vk-1"], pods = 1, pid = 7 } = {}): Promise<void> {
  const all = Array.from({ length: pods }, (_, index) => podInspection({ name: `web-${String(index).padStart(4, "0")}` }));
  const source = {
    program: () => ({ version: "1.2.3", kubernetes: "v1.36.3", pid, host: "host-1", upMs: 0, waitsFor: undefined }),
    nodes: nodes.map((name) => ({ name, node: { inspect: selectPage(nodeInspection({ name }), all) } })),
    now: () => 0,
  };
  for (const name of nodes) await serveAnswer(state, name, (request) => answerStatus(source, request));
}

async function serveAnswer(state: string, nodeName: string, answer: Parameters<typeof openStatusSocket>[0]["answer"]): Promise<void> {
  const directory = join(state, nodeName, "pki");
  const socket = await openStatusSocket({ nodeName, directory, answer, now: () => 0 });
  onTestFinished(() => socket[Symbol.asyncDispose]());
}

test("without a node's name every program of the state folder is shown", async () => {
  const state = await makeFolder();
  await serve(state, { nodes: ["vk-1"], pid: 7 });
  await serve(state, { nodes: ["vk-2"], pid: 8 });

  const { code, out } = await status("", { STATE_DIRECTORY: state });

  expect(code).toBe(0);
  expect(out).toMatch(/process 7 [^]*node vk-1 ready[^]*process 8 [^]*node vk-2 ready/);
});

test("a node that is named is shown alone, and a program of several nodes once", async () => {
  const state = await makeFolder();
  await serve(state, { nodes: ["vk-1", "vk-2"] });

  expect((await status("--nodename vk-2", { STATE_DIRECTORY: state })).out).not.toContain("node vk-1");
  expect((await status("", { STATE_DIRECTORY: state })).out.match(/process 7/g)).toHaveLength(1);
});

test("a configuration names the nodes and the folder, also if the rest of it is wrong", async () => {
  const state = await makeFolder();
  const directory = join(state, "certs");
  const socket = await openStatusSocket({
    nodeName: "vk-9",
    directory,
    answer: (request) =>
      answerStatus(
        {
          program: () => ({ version: "1", kubernetes: "v1", pid: 1, host: "h", upMs: 0, waitsFor: undefined }),
          nodes: [{ name: "vk-9", node: { inspect: () => nodeInspection({ name: "vk-9" }) } }],
          now: () => 0,
        },
        request,
      ),
    now: () => 0,
  });
  onTestFinished(() => socket[Symbol.asyncDispose]());
  await writeFile(join(state, "vk.yaml"), "kubelet: { certDirectory: certs }\nnodes: [{ name: vk-9, colour: red }]\n");

  expect((await status("--config vk.yaml", { STATE_DIRECTORY: state })).out).toContain("node vk-9 ready");
  expect((await status("--cert-dir certs", { STATE_DIRECTORY: state })).out).toContain("node vk-9 ready");
});

test("JSON has every pod, however many pages they take", async () => {
  const state = await makeFolder();
  await serve(state, { pods: 2_345 });

  const { out } = await status("-o json", { STATE_DIRECTORY: state });

  const { version, programs } = JSON.parse(out) as { version: number; programs: ReturnType<typeof takeStatus>[] };
  const names = programs[0]?.nodes[0]?.pods.map(({ name }) => name) ?? [];
  expect([version, names.length, new Set(names).size]).toEqual([1, 2_345, 2_345]);
});

test("a filter reaches the program", async () => {
  const state = await makeFolder();
  await serve(state, { pods: 20 });

  const { out } = await status("--namespace default --pod web-0007", { STATE_DIRECTORY: state });

  expect(out).toContain("web-0007");
  expect(out).not.toContain("web-0008");
});

test.each([
  ["", "no program runs a node here: there is no socket of one in FOLDER/*/pki."],
  ["--nodename vk-1", "no program runs node vk-1 here: there is no socket of one in FOLDER/vk-1/pki."],
  ["--nodename vk-1 --cert-dir /tmp/nowhere", "no program runs node vk-1 here: there is no socket of one in /tmp/nowhere."],
])("where no program runs, %j says where it looked", async (words, message) => {
  const state = await makeFolder();

  const { code, out, err } = await status(words, { STATE_DIRECTORY: state });

  expect([code, out]).toEqual([1, ""]);
  expect(err).toContain(message.replace("FOLDER", state));
  expect(err).toContain("kubectl exec");
});

test("a program of another version is named as such", async () => {
  const state = await makeFolder();
  await serveAnswer(state, "vk-1", () => ({ status: 200, body: '{"version":2,"nodes":[]}' }));
  await serveAnswer(state, "vk-2", () => ({ status: 404, body: "not found" }));
  await serveAnswer(state, "vk-3", () => ({ status: 200, body: '{"version":1,"nodes":[{}]}' }));
  const told = async (name: string): Promise<string> => (await status(`--nodename ${name}`, { STATE_DIRECTORY: state })).err;

  expect(await told("vk-1")).toMatch(/of another version .* answers with version 2 of the state, and this program understands version 1/);
  expect(await told("vk-2")).toMatch(/of another version .* answers with status 404: "not found"/);
  expect(await told("vk-3")).toMatch(/of another version .* answers with status 200/);
});

test("one program that cannot be read does not hide the others", async () => {
  const state = await makeFolder();
  await serve(state);
  await serveAnswer(state, "vk-2", () => ({ status: 500, body: "internal error" }));

  const { code, out, err } = await status("", { STATE_DIRECTORY: state });

  expect([code, out.includes("node vk-1 ready")]).toEqual([0, true]);
  expect(err).toContain("vk-2/pki");
});

test("a socket on which nobody listens is no program", async () => {
  const state = await makeFolder();
  await mkdir(join(state, "vk-1/pki"), { recursive: true });
  await writeFile(join(state, "vk-1/pki/vk-1.status.0123"), "");
  expect(await readdir(join(state, "vk-1/pki"))).toHaveLength(1);

  expect((await status("--nodename vk-1", { STATE_DIRECTORY: state })).err).toContain("no program runs node vk-1");
});

test.each([
  ["--watch", "--watch: expected a terminal"],
  ["--watch -o json", "--watch: cannot be used with --output json"],
  ["-o yaml", '--output: "yaml": expected text or json'],
])("%j is refused", async (words, message) => {
  const { code, err } = await status(words, { STATE_DIRECTORY: await makeFolder() });

  expect([code, err]).toEqual([64, expect.stringContaining(message)]);
});
