import { VirtualClock } from "@virtual-kubelet/clock";
import type { KubeClient, Logger } from "@virtual-kubelet/kube-client";
import { noMetrics, noTracer, silentLogger } from "@virtual-kubelet/kube-client";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadSettings } from "../config/load-settings.ts";
import { parseFlags } from "../command-line/flag-parser.ts";
import { ConfigError } from "../program-error.ts";
import { testContext } from "../test-support/test-context.ts";
import { LiveNodes } from "../nodes/live-nodes.ts";
import { openKubeletServers } from "./open-kubelet-servers.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "servers-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function open(words: readonly string[], logger: Logger = silentLogger): Promise<AsyncDisposable> {
  const context = testContext(new VirtualClock(), { cwd: folder, homeDir: folder });
  const loaded = await loadSettings(parseFlags("run", ["--provider", "mock", ...words]), context);
  const live = new LiveNodes();
  const client = {} as KubeClient;
  const parts = { logger, metrics: noMetrics, tracer: noTracer, renderMetrics: async () => "" };
  return openKubeletServers({ ...parts, loaded, live, client, context });
}

test.each([
  ["a client CA that is not there", ["--client-ca-file", "none"], /^--client-ca-file: read .*none: ENOENT/],
  [
    "a client CA that is none",
    ["--client-ca-file", "text"],
    /^--client-ca-file: .*text: read a CA bundle: it has no PEM block CERTIFICATE$/,
  ],
  [
    "a certificate that is none",
    ["--tls-cert-file", "text", "--tls-private-key-file", "text"],
    /^--tls-cert-file: read a certificate and its key/,
  ],
  ["a folder that is a file", ["--cert-dir", "text"], /^--cert-dir: make the directory .*text for certificates/],
])("%s is one line that names the flag", async (_, words, message) => {
  await writeFile(join(folder, "text"), "some text");

  const error: unknown = await open(words).catch((caught: unknown) => caught);

  expect(error).toBeInstanceOf(ConfigError);
  expect((error as Error).message).toMatch(message);
});

test("without a port there is no server, and nothing is read or asked", async () => {
  await using servers = await open(["--client-ca-file", "none", "--kubelet-port", "0"]);

  expect(servers).toBeDefined();
});

test.each([
  [[], []],
  [["--anonymous-auth"], ["callers without credentials may do everything that the cluster allows system:anonymous (--anonymous-auth)"]],
  [
    ["--authorization-mode=AlwaysAllow"],
    ["INSECURE: everybody with credentials of the cluster may run commands in every pod (--authorization-mode=AlwaysAllow)"],
  ],
  [
    ["--anonymous-auth", "--authorization-mode=AlwaysAllow"],
    [
      "INSECURE: everybody who can reach the kubelet's API may run commands in every pod (--anonymous-auth, --authorization-mode=AlwaysAllow)",
    ],
  ],
])("what %j opens is told in one warning", async (words, expected) => {
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, warn: (_fields, message) => void warnings.push(message) };

  // Nothing is opened: the client CA is not there.
  await open(["--client-ca-file", "none", ...words], logger).catch(() => undefined);

  expect(warnings).toEqual(expected);
});
