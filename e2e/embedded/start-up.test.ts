import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:fs";
import { access, mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { constants as system, tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@virtual-kubelet/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { exitCodes } from "virtual-kubelet";
import { Program } from "../support/program.ts";

const soon = { timeoutMs: 150_000 };
let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk-start-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** A program that would wait an hour for what it has started. */
function start(words: string): Program {
  return new Program([...words.split(" "), "--health-addr", "off", "--shutdown-timeout", "1h"], { cwd: folder });
}

async function writeKubeconfig(server: string, user: object = { token: "secret" }): Promise<void> {
  const config = {
    clusters: [{ name: "c", cluster: { server } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  };
  await writeFile(join(folder, "kubeconfig"), JSON.stringify(config));
}

/** A pipe that is never written, so that its reader blocks. */
function makePipe(name: string): string {
  const path = join(folder, name);
  execFileSync("mkfifo", [path]);
  return path;
}

/** Resolves when a reader has opened the pipe. */
async function hasReader(path: string): Promise<AsyncDisposable> {
  return await eventually(() => open(path, constants.O_WRONLY | constants.O_NONBLOCK), soon);
}

async function writeProvider(head: string, create: string): Promise<void> {
  const text = `${head}
    export const provider = { name: "slow", capabilities: {}, configSchema: { safeParse: (data) => ({ success: true, data }) }, create: ${create} };`;
  await writeFile(join(folder, "slow.mjs"), text);
}

const tell = 'process.stderr.write("{\\"msg\\":\\"waiting\\"}\\n");';

async function waits(program: Program): Promise<void> {
  await eventually(() => expect(program.stderr).toContain('"waiting"'), soon);
}

test.for(["run", "run --dry-run", "config validate", "manifests node"])(
  "SIGTERM while `%s` waits for a file ends it at once, by the signal",
  async (command) => {
    await writeKubeconfig("https://127.0.0.1:1");
    const pipe = makePipe("provider.json");
    await using program = start(`${command} --provider mock --provider-config ${pipe} --kubeconfig kubeconfig`);
    await using _pipe = await hasReader(pipe);

    // A blocked thread cannot be ended by the process, so it cannot exit normally.
    expect(await program.end("SIGTERM")).toBe("SIGTERM");
    // Exit code that shells and container engines report for the signal.
    expect(exitCodes.terminated.code).toBe(128 + system.signals.SIGTERM);
  },
);

test("SIGTERM while the kubeconfig is waited for ends the program at once, by the signal", async () => {
  const pipe = makePipe("kubeconfig");
  await using program = start("--provider mock --kubeconfig kubeconfig");
  await using _pipe = await hasReader(pipe);

  expect(await program.end("SIGTERM")).toBe("SIGTERM");
});

test("SIGTERM while a provider's module loads ends the program at once, with 0", async () => {
  await writeKubeconfig("https://127.0.0.1:1");
  await writeProvider(`${tell} await new Promise((resolve) => setTimeout(resolve, 3_600_000));`, "() => ({})");
  await using program = start("--provider ./slow.mjs --kubeconfig kubeconfig");
  await waits(program);

  expect(await program.end("SIGTERM")).toBe(0);
});

test("SIGTERM while a provider is made ends the program at once, with 0", async () => {
  await writeKubeconfig("https://127.0.0.1:1");
  await writeProvider("", `() => { ${tell} return new Promise((resolve) => setTimeout(resolve, 3_600_000)); }`);
  const settings = { cluster: { id: "c" }, nodes: [{ name: "vk", provider: "./slow.mjs", kubeletVersion: "v1.36.0" }] };
  await writeFile(
    join(folder, "vk.json"),
    JSON.stringify({ apiVersion: "virtual-kubelet.io/v1alpha1", kind: "VirtualKubelet", ...settings }),
  );
  await using program = start("--config vk.json --kubeconfig kubeconfig");
  await waits(program);

  expect(await program.end("SIGTERM")).toBe(0);
});

test("SIGTERM while a credential command runs ends the program at once, with 0", async () => {
  const seen = join(folder, "seen");
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1",
    interactiveMode: "Never",
    command: process.execPath,
    args: ["-e", `require("fs").writeFileSync(${JSON.stringify(seen)}, ""); setTimeout(() => {}, 60_000)`],
  };
  await writeKubeconfig("https://127.0.0.1:1", { exec });
  await using program = start("--provider mock --kubeconfig kubeconfig");
  await eventually(() => access(seen), soon);

  expect(await program.end("SIGTERM")).toBe(0);
});

test("SIGTERM while the API server takes connections and answers nothing ends the program at once, with 0", async () => {
  const server = createServer(() => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  await writeKubeconfig(`http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`);
  await using program = start("--provider mock --kubeconfig kubeconfig");
  await once(server, "connection");

  expect(await program.end("SIGTERM")).toBe(0);
  server.close();
});
