import { VirtualClock } from "@virtual-kubelet/clock";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseFlags } from "../command-line/flag-parser.ts";
import { testContext } from "../test-support/test-context.ts";
import { effectiveSettings, formatSource } from "./effective.ts";
import { formatPath } from "./layers.ts";
import { loadSettings, type LoadedSettings } from "./load-settings.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk-settings-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

interface Given {
  readonly file?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly words?: readonly string[];
}

const head = "apiVersion: virtual-kubelet.io/v1alpha1\nkind: VirtualKubelet\n";

async function load({ file, env = {}, words = [] }: Given): Promise<LoadedSettings> {
  if (file !== undefined) await writeFile(join(folder, "vk.yaml"), file);
  const line = parseFlags("run", [...(file === undefined ? [] : ["--config", "vk.yaml"]), ...words]);
  return loadSettings(line, testContext(new VirtualClock(), { env, cwd: folder }));
}

test("without a word said there is one node with upstream's name, and no provider", async () => {
  await expect(load({})).rejects.toThrow("--provider: not set: expected a provider's name, such as mock");
  expect((await load({ words: ["--provider", "mock"] })).settings).toMatchObject({
    cluster: { domain: "cluster.local" },
    health: { address: "127.0.0.1:10248" },
    shutdownTimeout: "30s",
    nodes: [
      {
        name: "virtual-kubelet",
        provider: "mock",
        workers: 50,
        onShutdown: "keep",
        taint: { key: "virtual-kubelet.io/provider", effect: "NoSchedule", disable: false },
      },
    ],
  });
});

test("a flag goes over an environment variable, that over the file, that over the default", async () => {
  const file = `${head}nodes:\n- { provider: mock, name: from-file, kubeletPort: 1, workers: 7 }\n`;
  const env = { DEFAULT_NODE_NAME: "from-env", KUBELET_PORT: "2" };
  const { merged, settings } = await load({ file, env, words: ["--nodename", "from-flag"] });

  expect(settings.nodes[0]).toMatchObject({ name: "from-flag", kubeletPort: 2, workers: 7, daemonSets: "run" });
  const sources = Object.fromEntries(effectiveSettings(merged).map(({ path, source }) => [formatPath(path), formatSource(source)]));
  expect(sources).toMatchObject({
    "nodes[0].name": "--nodename",
    "nodes[0].kubeletPort": "$KUBELET_PORT",
    "nodes[0].workers": "vk.yaml",
    "nodes[0].daemonSets": "default",
  });
});

test("our own variable goes over the one of another program", async () => {
  const { settings } = await load({ env: { VKUBELET_NODENAME: "ours", DEFAULT_NODE_NAME: "theirs", VKUBELET_PROVIDER: "mock" } });

  expect(settings.nodes[0]?.name).toBe("ours");
});

test("an empty variable says nothing, but that the taint has no value", async () => {
  const { settings } = await load({
    env: { VKUBELET_PROVIDER: "mock", DEFAULT_NODE_NAME: "", VKUBELET_POD_IP: "", VKUBELET_TAINT_VALUE: "" },
  });

  expect(settings.nodes[0]).toMatchObject({ name: "virtual-kubelet", taint: { value: "" } });
  expect(settings.nodes[0]?.address).toBeUndefined();
});

test("upstream's taint variables and its --taint make the taint", async () => {
  const env = { VKUBELET_TAINT_VALUE: "azure", VKUBELET_TAINT_EFFECT: "NoExecute" };
  const { settings, warnings } = await load({ env, words: ["--provider", "mock", "--taint", "example.com/taint"] });

  expect(settings.nodes[0]?.taint).toEqual({ disable: false, key: "example.com/taint", value: "azure", effect: "NoExecute" });
  expect(warnings).toEqual(["--taint is deprecated: use --taint-key"]);
});

test("labels of flags join those of the file", async () => {
  const file = `${head}nodes: [{ provider: mock, labels: { a: file, b: file } }]`;
  const { settings } = await load({ file, words: ["--label", "b=flag", "--label", "c=x.y"] });

  expect(settings.nodes[0]?.labels).toEqual({ a: "file", b: "flag", c: "x.y" });
});

test("a flag of a node counts for all nodes, its name only where there is one", async () => {
  const file = `${head}nodes: [{ name: a, provider: mock }, { name: b, provider: mock }]`;

  expect((await load({ file, words: ["--daemon-sets", "reject"] })).settings.nodes).toMatchObject([
    { daemonSets: "reject" },
    { daemonSets: "reject" },
  ]);
  await expect(load({ file, words: ["--nodename", "x"] })).rejects.toThrow(
    '--nodename: "x": needs a configuration with one node, but it has 2; name the nodes in the file',
  );
  expect((await load({ file, env: { DEFAULT_NODE_NAME: "x" } })).warnings).toEqual([
    "DEFAULT_NODE_NAME has no effect: the configuration has 2 nodes",
  ]);
});

test("upstream's log levels are taken", async () => {
  const level = async (text: string): Promise<string> =>
    (await load({ words: ["--provider", "mock", "--log-level", text] })).settings.log.level;

  expect(await level("WARNING")).toBe("warn");
  expect(await level("trace")).toBe("debug");
  expect(await level("fatal")).toBe("error");
});

test("an operating system may begin with a capital, as in Azure's chart", async () => {
  expect((await load({ words: ["--provider", "mock", "--os", "Linux"] })).settings.nodes[0]?.operatingSystem).toBe("linux");
});

test("obsolete flags and variables cost a warning each, and nothing else", async () => {
  const { warnings } = await load({
    words: ["--provider", "mock", "--namespace", "x", "--namespace=y", "--klog.v", "5"],
    env: { JAEGER_AGENT_ENDPOINT: "/x" },
  });

  expect(warnings).toEqual([
    "--namespace has no effect: a node takes all pods that are bound to it, in every namespace",
    "--klog.v has no effect: use --log-level and --log-format",
    "JAEGER_AGENT_ENDPOINT has no effect: traces go to the OpenTelemetry collector that OTEL_EXPORTER_OTLP_ENDPOINT names; the guide Monitoring says how",
  ]);
});

test("the kubelet's API is closed, and on a kubelet's port, unless somebody says otherwise", async () => {
  const { settings } = await load({ words: ["--provider", "mock"] });

  expect(settings.nodes[0]?.kubeletPort).toBe(10250);
  expect(settings.kubelet).toMatchObject({
    address: "0.0.0.0",
    anonymousAuth: false,
    authorizationMode: "Webhook",
    authenticationTokenWebhook: true,
    serverTLSBootstrap: true,
  });
});

test("upstream's flags and variables for the server's certificates are taken", async () => {
  const env = { APISERVER_CERT_LOCATION: "/a.crt", APISERVER_KEY_LOCATION: "/a.key", APISERVER_CA_CERT_LOCATION: "/ca.crt" };
  const { settings, warnings } = await load({ words: ["--provider", "mock", "--no-verify-clients"], env });

  expect(settings.kubelet).toMatchObject({ tlsCertFile: "/a.crt", tlsPrivateKeyFile: "/a.key", clientCAFile: "/ca.crt" });
  expect(settings.kubelet.anonymousAuth).toBe(false);
  expect(warnings).toEqual([expect.stringContaining("--no-verify-clients has no effect")]);
  expect((await load({ words: ["--provider", "mock", "--client-verify-ca", "/b"] })).settings.kubelet.clientCAFile).toBe("/b");
});

test("cipher suites are named as a kubelet's are, as a flag with commas and in the file as a list; others are refused by name", async () => {
  const suites = ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"];
  const words = ["--provider", "mock", "--tls-min-version", "VersionTLS13"];
  const file = `${head}nodes: [{ provider: mock }]\nkubelet: { tlsCipherSuites: [${suites.join(", ")}] }\n`;

  expect((await load({ words: [...words, `--tls-cipher-suites=${suites.join(",")}`] })).settings.kubelet).toMatchObject({
    tlsCipherSuites: suites,
    tlsMinVersion: "VersionTLS13",
  });
  expect((await load({ file })).settings.kubelet).toMatchObject({ tlsCipherSuites: suites, tlsMinVersion: "VersionTLS12" });
  await expect(load({ words: [...words, "--tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA"] })).rejects.toThrow(
    /^--tls-cipher-suites: .*expected cipher suites of TLS_ECDHE/,
  );
  await expect(load({ words: ["--provider", "mock", "--tls-min-version=VersionTLS11"] })).rejects.toThrow(/VersionTLS12/);
});

test("a certificate without its key is one line", async () => {
  await expect(load({ words: ["--provider", "mock", "--tls-cert-file", "/a.crt"] })).rejects.toThrow(
    /^--tls-private-key-file: not set: expected a file: the certificate and its key must be set together$/,
  );
});

test("paths in the file start at the file, paths of flags where the program was started, ~ at home", async () => {
  const file = `${head}cluster: { kubeconfig: conf/kube }\nnodes: [{ provider: mock }]`;
  const { resolvePath, settings } = await load({ file, words: ["--provider-config", "~/x.toml"] });

  expect(resolvePath(["cluster", "kubeconfig"], settings.cluster.kubeconfig ?? "")).toBe(join(folder, "conf/kube"));
  expect(resolvePath(["nodes", 0, "providerConfigFile"], settings.nodes[0]?.providerConfigFile ?? "")).toBe("/home/me/x.toml");
});

test("fields to be ignored stand beside what becomes of other pods that need more, in the file", async () => {
  const nodes = (policy: string): string => `${head}nodes: [{ provider: mock, onUnsupported: ${policy} }]`;
  const read = async (policy: string, words: readonly string[] = []): Promise<unknown> =>
    (await load({ file: nodes(policy), words })).settings.nodes[0]?.onUnsupported;

  expect(await read("fail")).toBe("fail");
  expect(await read("{ ignore: [spec.hostPID] }")).toEqual({ default: "wait", ignore: ["spec.hostPID"] });
  expect(await read("{ default: fail }")).toEqual({ default: "fail", ignore: [] });
  expect(await read("{ ignore: [spec.hostPID] }", ["--on-unsupported", "fail"])).toBe("fail");
});

test.for<[string, Given, string]>([
  [
    "a misspelt field to be ignored",
    { file: `${head}nodes: [{ provider: mock, onUnsupported: { ignore: ["spec.containers[*].livenesProbe"] } }]` },
    'vk.yaml: nodes[0].onUnsupported.ignore[0]: "spec.containers[*].livenesProbe": expected a field that a pod may be run without, such as spec.containers[*].livenessProbe; did you mean spec.containers[*].livenessProbe?',
  ],
  [
    "a field without which a pod is another program",
    { file: `${head}nodes: [{ provider: mock, onUnsupported: { ignore: ["spec.containers[*].image"] } }]` },
    'vk.yaml: nodes[0].onUnsupported.ignore[0]: "spec.containers[*].image": expected a field that a pod may be run without, such as spec.containers[*].livenessProbe',
  ],
  [
    "a value of a flag",
    { words: ["--provider", "mock", "--os", "lnux"] },
    '--os: "lnux": expected one of linux, windows; did you mean linux?',
  ],
  [
    "a number of a flag",
    { words: ["--provider", "mock", "--pod-sync-workers", "0"] },
    "--pod-sync-workers: 0: expected a whole number of at least 1",
  ],
  [
    "a text where a number is wanted",
    { words: ["--provider", "mock", "--kubelet-port", "https"] },
    '--kubelet-port: "https": expected a whole number from 0 to 65535',
  ],
  [
    "a port",
    { words: ["--provider", "mock"], env: { KUBELET_PORT: "99999" } },
    "KUBELET_PORT: 99999: expected a whole number from 0 to 65535",
  ],
  [
    "a duration",
    { words: ["--provider", "mock", "--startup-timeout", "2 min"] },
    '--startup-timeout: "2 min": expected a duration such as 500ms, 30s or 1h30m',
  ],
  [
    "an address",
    { words: ["--provider", "mock"], env: { VKUBELET_POD_IP: "localhost" } },
    'VKUBELET_POD_IP: "localhost": expected an IP address, or an IPv4 and an IPv6 address separated by a comma',
  ],
  ...["0.0.0.0:10247", ":10247", "192.0.2.1:10247", "example.com:10247", "10247"].map((address): [string, Given, string] => [
    `the address ${address} for the page with the program's state`,
    { words: ["--provider", "mock", "--debug-addr", address] },
    `--debug-addr: "${address}": expected a HOST:PORT on loopback, such as 127.0.0.1:10247, or off; the page has no login, so reach it with kubectl port-forward or ssh -L`,
  ]),
  [
    "a health address",
    { words: ["--provider", "mock", "--health-addr", "10248"] },
    '--health-addr: "10248": expected HOST:PORT, such as 127.0.0.1:10248, or off',
  ],
  ["a label", { words: ["--provider", "mock", "--label", "x"] }, '--label: "x": expected KEY=VALUE'],
  [
    "a node's name",
    { words: ["--provider", "mock", "--nodename", "My_Node"] },
    `--nodename: "My_Node": expected lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit`,
  ],
  [
    "a field of the file",
    { file: `${head}nodes: [{ provider: mock, taintz: [] }]` },
    "vk.yaml: nodes[0].taintz: unknown field; did you mean taint?",
  ],
  ["a field at the top", { file: `${head}loging: {}\nnodes: [{ provider: mock }]` }, "vk.yaml: loging: unknown field; did you mean log?"],
  [
    "a value of the file",
    { file: `${head}log: { level: inf }\nnodes: [{ provider: mock }]` },
    'vk.yaml: log.level: "inf": expected one of debug, info, warn, error; did you mean info?',
  ],
  [
    "a missing kind",
    { file: "apiVersion: virtual-kubelet.io/v1alpha1\nnodes: [{ provider: mock }]" },
    "vk.yaml: kind: not set: expected VirtualKubelet",
  ],
  [
    "another apiVersion",
    { file: "apiVersion: v1\nkind: VirtualKubelet\nnodes: [{ provider: mock }]" },
    'vk.yaml: apiVersion: "v1": expected virtual-kubelet.io/v1alpha1',
  ],
  ["no nodes", { file: `${head}nodes: []` }, "vk.yaml: nodes: a list: expected at least one node"],
  ["nodes that are none", { file: `${head}nodes: 3` }, "vk.yaml: nodes: 3: expected a list"],
  [
    "two nodes of one name",
    { file: `${head}nodes: [{ name: a, provider: mock }, { name: a, provider: mock }]` },
    'vk.yaml: nodes[1].name: "a": expected a unique name among the nodes',
  ],
  [
    "an entry that stands for the node of another one",
    { file: `${head}nodes: [{ name: sim, count: 10, provider: mock }, { name: sim-3, provider: mock }]` },
    'vk.yaml: nodes[1].name: "sim-3": expected a unique name among the nodes',
  ],
  [
    "a count whose names are taken",
    { file: `${head}nodes: [{ name: sim-3, provider: mock }, { name: sim, count: 10, provider: mock }]` },
    'vk.yaml: nodes[1].name: "sim": expected a unique name among the nodes: the count makes it stand for sim-3, as nodes[0] does; choose another name, or a smaller count',
  ],
  [
    "a name that is too long with its numbers",
    { file: `${head}nodes: [{ name: ${"a".repeat(252)}, count: 10, provider: mock }]` },
    "expected at most 251 characters, because the nodes' numbers follow",
  ],
  [
    "an instance that shares its nodes and stands by",
    { file: `${head}instance: { group: sim, standby: true }\nnodes: [{ provider: mock }]` },
    "vk.yaml: instance.standby: true: expected false: the instances of a group share the nodes, so none stands by",
  ],
  [
    "a shared node that is deleted at the end",
    { file: `${head}instance: { group: sim }\nnodes: [{ provider: mock, onShutdown: delete }]` },
    'vk.yaml: nodes[0].onShutdown: "delete": expected keep: other instances of the group take the node over',
  ],
  ["a group that cannot be a label's value", { words: ["--provider", "mock", "--group", "a b"] }, '--group: "a b": expected'],
  [
    "a count of no nodes",
    { file: `${head}nodes: [{ name: sim, count: 0, provider: mock }]` },
    "vk.yaml: nodes[0].count: 0: expected a whole number from 1 to 10000",
  ],
  [
    "a count beyond all arrays",
    { file: `${head}nodes: [{ name: sim, count: 1e15, provider: mock }]` },
    "vk.yaml: nodes[0].count: 1000000000000000: expected a whole number from 1 to 10000",
  ],
  [
    "two provider configurations",
    { file: `${head}nodes: [{ provider: mock, providerConfig: {}, providerConfigFile: x.json }]` },
    'vk.yaml: nodes[0].providerConfigFile: "x.json": expected either this or providerConfig, not both',
  ],
  [
    "a file that is no object",
    { file: "just text" },
    "vk.yaml: expected an object with apiVersion: virtual-kubelet.io/v1alpha1 and kind: VirtualKubelet",
  ],
  ["a file that cannot be parsed", { file: "a: [" }, "vk.yaml: Flow sequence in block collection must be sufficiently indented"],
  ["a file that is not there", { words: ["--config", "no.yaml"] }, '--config: "no.yaml": not there, expected a readable file'],
  ["the same by a variable", { env: { VKUBELET_CONFIG: "no.yaml" } }, 'VKUBELET_CONFIG: "no.yaml": not there, expected a readable file'],
])("%s that is wrong costs a line that names it", async ([, given, message]) => {
  const error: unknown = await load(given).catch((caught: unknown) => caught);

  expect(error).toMatchObject({ exitCode: 78, message: expect.stringContaining(message) });
});

test.for<[name: string, env: Record<string, string>, warnings: string[]]>([
  [
    "a variable that only looks like one of ours is told, with the nearest name",
    { VKUBELET_NODE_NAME: "a", VKUBELET_LOGLEVEL: "debug", VKUBELET_ZZZZ: "1", VKUBELET_POD_IP: "192.0.2.1", VKUBELET_TAINT_KEY: "k" },
    [
      "VKUBELET_NODE_NAME has no effect: unknown variable; did you mean VKUBELET_NODENAME?",
      "VKUBELET_LOGLEVEL has no effect: unknown variable; did you mean VKUBELET_LOG_LEVEL?",
      "VKUBELET_ZZZZ has no effect: unknown variable",
    ],
  ],
  [
    "what Kubernetes sets in pods for a service called vkubelet is no mistake",
    {
      VKUBELET_SERVICE_HOST: "10.0.0.1",
      VKUBELET_SERVICE_PORT_HTTPS: "443",
      VKUBELET_PORT: "tcp://10.0.0.1:443",
      VKUBELET_PORT_443_TCP_ADDR: "10.0.0.1",
    },
    [],
  ],
])("%s", async ([, env, warnings]) => {
  expect((await load({ env, words: ["--provider", "mock"] })).warnings).toEqual(warnings);
});

test("an entry with a count stands for that many nodes, whose settings are named by their entry", async () => {
  const file = `${head}nodes:\n  - { name: a, provider: mock }\n  - { name: sim, count: 3, provider: mock, providerConfigFile: x.json }\n`;

  const { settings, entryOf, nameOf } = await load({ file });

  expect(settings.nodes.map(({ name }) => name)).toEqual(["a", "sim-0", "sim-1", "sim-2"]);
  expect(settings.nodes.map(({ count }) => count)).toEqual([undefined, undefined, undefined, undefined]);
  expect([0, 1, 3].map(entryOf)).toEqual([
    { index: 0, name: "a" },
    { index: 1, name: "sim" },
    { index: 1, name: "sim" },
  ]);
  expect(nameOf(["nodes", 3, "providerConfigFile"])).toBe("vk.yaml: nodes[1].providerConfigFile");
});
