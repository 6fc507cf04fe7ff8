import { VirtualClock } from "@virtual-kubelet/clock";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runProgram } from "../cli.ts";
import { flagsOf } from "../command-line/flags.ts";
import { lockNode } from "../nodes/node-lock.ts";
import { testContext } from "../test-support/test-context.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk-check-"));
  await writeKubeconfig("kubeconfig", { token: "secret" });
  await writeFile(join(folder, "text"), "some text");
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function writeKubeconfig(name: string, user: object): Promise<void> {
  const config = {
    clusters: [{ name: "c", cluster: { server: "https://192.0.2.1:6443" } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  };
  await writeFile(join(folder, name), JSON.stringify(config));
}

async function program(words: string, env: Readonly<Record<string, string>> = {}): Promise<{ code: number; out: string; err: string }> {
  const context = testContext(new VirtualClock(), { env, cwd: folder, homeDir: folder });
  const code = await runProgram(words.split(" "), context);
  return { code, out: context.stdout.text, err: context.stderr.text };
}

const mock = "--provider mock --kubeconfig kubeconfig --health-addr off";

test.for<[name: string, words: string, message: string]>([
  ["no cluster at all", "--provider mock", "no cluster to talk to"],
  ["a kubeconfig that is not there", `${mock} --kubeconfig none`, "there is no file"],
  ["a kubeconfig that is none", `${mock} --kubeconfig text`, "it has no fields, expected a kubeconfig"],
  ["a kubeconfig without the context", `${mock} --context y`, 'there is no context "y"'],
  ["a client CA that is not there", `${mock} --kubelet-port 1 --client-ca-file none`, "--client-ca-file: read"],
  ["a client CA that is none", `${mock} --kubelet-port 1 --client-ca-file text`, "text: read a CA bundle"],
  ["a certificate that is none", `${mock} --kubelet-port 1 --tls-cert-file text --tls-private-key-file text`, "--tls-cert-file: read"],
  ["a folder for certificates that is a file", `${mock} --kubelet-port 1 --cert-dir text`, "--cert-dir: "],
  ["a folder for certificates below a file", `${mock} --kubelet-port 1 --cert-dir text/below`, "--cert-dir: "],
  ["a label with two slashes", `${mock} --label a/b/c=x`, '; the key is "a/b/c"'],
  ["a label with a long value", `${mock} --label team=${"a".repeat(64)}`, "expected a label's value"],
  ["a label with two =", `${mock} --label c=x=y`, '"x=y": expected a label\'s value'],
  ["a taint that the API server refuses", `${mock} --taint-key a_b/c`, "expected a label's key"],
  ["a taint's value that is no label's", `${mock} --taint-value x/y`, "expected a label's value"],
  ["a health address of another host", `${mock} --kubelet-port 0 --health-addr 192.0.2.1:1`, "--health-addr: "],
  ["an address of another host for the kubelet's API", `${mock} --kubelet-port 1 --kubelet-address 192.0.2.1`, "--kubelet-port: "],
])("%s is refused by validate, by a dry run and by a run, with 78 and the same beginning", async ([, words, message]) => {
  for (const command of ["config validate", "run --dry-run", "run"]) {
    const { code, out, err } = await program(`${command} ${words}`);
    const lines = err.split("\n").filter((line) => line !== "" && !line.startsWith("{"));
    expect({ command, code, out, lines }).toEqual({ command, code: 78, out: "", lines: [expect.stringContaining(message)] });
  }
});

test("validate reads the files that a kubeconfig names", async () => {
  await writeKubeconfig("with-files", { "client-certificate": "none.crt", "client-key": "none.key" });

  const { code, err } = await program(`config validate ${mock} --kubelet-port 0 --kubeconfig with-files`);

  expect({ code, err }).toEqual({
    code: 78,
    err: expect.stringMatching(/^virtual-kubelet: kubeconfig .*with-files: user ".*" has client-certificate .*none\.crt: /),
  });
});

test.for([
  ["zun", {}, "node virtual-kubelet, provider zun: sign in to OpenStack: no authUrl is set"],
  ["zun", { OS_AUTH_URL: "https://cloud.example" }, "node virtual-kubelet, provider zun: sign in to OpenStack"],
] as const)("provider %s with %j only lacks a setting, and that is 78", async ([provider, env, message]) => {
  for (const command of ["config validate", "run --dry-run"]) {
    const { code, err } = await program(
      `${command} --provider ${provider} --kubeconfig kubeconfig --health-addr off --kubelet-port 0`,
      env,
    );
    expect({ command, code, err }).toEqual({ command, code: 78, err: expect.stringContaining(message) });
  }
});

/** A provider whose `create` is the function. */
async function validateProvider(create: string): ReturnType<typeof program> {
  await writeFile(
    join(folder, "made.mjs"),
    `import { readFile } from "node:fs/promises";
     import { connect } from "node:net";
     import { once } from "node:events";
     export const provider = { name: "made", capabilities: {}, configSchema: { safeParse: (data) => ({ success: true, data }) },
       create: ${create} };`,
  );
  return await program("config validate --provider ./made.mjs --kubeconfig kubeconfig --kubelet-port 0 --health-addr off");
}

test.for([
  ["that refuses the connection", '() => { throw new Error("connect ECONNREFUSED"); }'],
  ["whose socket is not there", '() => once(connect("/nonexistent/engine.sock"), "connect")'],
] as const)("a back end %s is away, and no mistake in the settings", async ([, create]) => {
  expect(await validateProvider(create)).toMatchObject({ code: 0, err: "" });
});

test("a file that a provider does not find is a mistake in the settings", async () => {
  expect(await validateProvider('() => readFile("/nonexistent/ca.pem")')).toMatchObject({
    code: 78,
    err: "virtual-kubelet: node virtual-kubelet, provider made: ENOENT: no such file or directory, open '/nonexistent/ca.pem'\n",
  });
});

test("all that is wrong is told at once", async () => {
  const { code, err } = await program(`config validate ${mock} --kubeconfig none --kubelet-port 1 --client-ca-file none --cert-dir text`);

  expect(code).toBe(78);
  expect(err.split("\n").filter(Boolean)).toEqual([
    expect.stringContaining("there is no file"),
    expect.stringContaining("--client-ca-file"),
    expect.stringContaining("--cert-dir"),
  ]);
});

test("a port that is taken is a warning: the node's own program may have it", async () => {
  await using taken = createServer();
  taken.listen(0, "127.0.0.1");
  await once(taken, "listening");
  const address = taken.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;

  const { code, err } = await program(`config validate ${mock} --kubelet-address 127.0.0.1 --kubelet-port ${port}`);

  expect({ code, err }).toEqual({ code: 0, err: expect.stringMatching(/EADDRINUSE.*; a run fails while it is in use\n$/) });
});

test.for(["127.0.0.1:1", "0.0.0.0:1", ":1"])("a health address %s that the kubelet's API has is refused", async (address) => {
  const words = `--provider mock --kubeconfig kubeconfig --kubelet-address 127.0.0.1 --kubelet-port 1 --health-addr ${address}`;

  expect(await program(`config validate ${words}`)).toMatchObject({
    code: 78,
    err: `virtual-kubelet: --health-addr: "${address}": the kubelet's API uses this address; choose another port\n`,
  });
});

test("validate tells of a program on this host that runs the node already", async () => {
  const words = `${mock} --kubelet-port 0 --cert-dir pki`;
  const lock = { nodeName: "virtual-kubelet", directory: join(folder, "pki"), pid: 4711, standby: false };
  await using _held = await lockNode({ ...lock, clock: new VirtualClock(), logger: silentLogger, signal: new AbortController().signal });

  expect(await program(`config validate ${words}`)).toMatchObject({
    code: 0,
    err: "virtual-kubelet: node virtual-kubelet: process 4711 on this host is already running it; a run fails until that ends\n",
  });
  expect(await program(`config validate ${words} --standby`)).toMatchObject({ code: 0, err: "" });
});

test("validate writes nothing", async () => {
  await mkdir(join(folder, "kept"));
  const before = await readdir(folder, { recursive: true });

  expect((await program(`config validate ${mock} --kubelet-address 127.0.0.1 --kubelet-port 1 --cert-dir kept/deeper/pki`)).code).toBe(0);
  expect(await readdir(folder, { recursive: true })).toEqual(before);
});

test("validate takes every flag of run", () => {
  const names = flagsOf("config").map(({ name }) => name);

  expect(flagsOf("run").filter(({ name }) => !names.includes(name))).toEqual([]);
});

test("an upstream command line is validated as it stands", async () => {
  const { code, err } = await program(`config validate ${mock} --kubelet-port 0 --klog.v 2 --taint example.com/a --metrics-addr :10255`);

  expect(code).toBe(0);
  expect(err.match(/^virtual-kubelet: --\S+/gm)).toEqual([
    "virtual-kubelet: --klog.v",
    "virtual-kubelet: --taint",
    "virtual-kubelet: --metrics-addr",
  ]);
});
