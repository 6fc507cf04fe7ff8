import { VirtualClock } from "@virtual-kubelet/clock";
import { noMetrics, noTracer, silentLogger, type KubeClient, type Logger, type Metrics } from "@virtual-kubelet/kube-client";
import { PrometheusMetrics } from "@virtual-kubelet/metrics";
import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
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

async function open(
  words: readonly string[],
  logger: Logger = silentLogger,
  { metrics = noMetrics, clock = new VirtualClock() }: { metrics?: Metrics; clock?: VirtualClock } = {},
): Promise<AsyncDisposable> {
  const context = testContext(clock, { cwd: folder, homeDir: folder });
  const loaded = await loadSettings(parseFlags("run", ["--provider", "mock", ...words]), context);
  const live = new LiveNodes();
  const client = {} as KubeClient;
  const parts = { logger, metrics, tracer: noTracer, renderMetrics: async () => "" };
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

test("nodes on several ports have one certificate of the file: its time left is not added up, and its warnings come once", async () => {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const dayMs = 86_400_000;
  const authority = createCertificateAuthority("vk", { notBeforeMs: clock.now() - 98 * dayMs, notAfterMs: clock.now() + 2 * dayMs });
  await writeFile(join(folder, "ca.crt"), authority.certificate);
  await writeFile(join(folder, "tls.key"), authority.key, { mode: 0o600 });
  const ports = await freePorts(3);
  const nodes = ports.map((port, index) => `- { name: n-${index}, provider: mock, kubeletPort: ${port} }\n`).join("");
  const head = "apiVersion: virtual-kubelet.io/v1alpha1\nkind: VirtualKubelet\n";
  await writeFile(join(folder, "vk.yaml"), `${head}kubelet: { address: 127.0.0.1 }\nnodes:\n${nodes}`);
  using metrics = new PrometheusMetrics();
  const warnings: string[] = [];
  const logger: Logger = { ...silentLogger, child: () => logger, warn: (_fields, message) => void warnings.push(message) };

  const files = ["--client-ca-file", "ca.crt", "--tls-cert-file", "ca.crt", "--tls-private-key-file", "tls.key"];
  await using _servers = await open(["--config", "vk.yaml", ...files], logger, { metrics, clock });

  const [series] = /^kubelet_certificate_manager_server_ttl_seconds.*$/m.exec(await metrics.render()) ?? [];
  expect(series).toBe('kubelet_certificate_manager_server_ttl_seconds{node=""} 172800');
  expect(warnings.filter((warning) => warning.includes("serving certificate"))).toHaveLength(1);
});

/** Ports that nobody listens on. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

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
