import { VirtualClock } from "@virtual-kubelet/clock";
import { kubernetesVersion } from "@virtual-kubelet/core";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { runProgram } from "./cli.ts";
import { builtInProviders } from "./providers/registry.ts";
import { testContext } from "./test-support/test-context.ts";

const bundled = builtInProviders.filter(({ load }) => load).map(({ name }) => name);
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk-cli-"));
  const contexts = [{ name: "x", context: { cluster: "c", user: "u" } }];
  const clusters = [{ name: "c", cluster: { server: "https://192.0.2.1:6443" } }];
  const users = [{ name: "u", user: { token: "secret" } }];
  await writeFile(join(folder, "kubeconfig"), JSON.stringify({ clusters, contexts, users, "current-context": "x" }));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function program(line: string, env: Readonly<Record<string, string>> = {}): Promise<{ code: number; out: string; err: string }> {
  const context = testContext(new VirtualClock(), { env, cwd: folder, homeDir: folder });
  const code = await runProgram(line.split(" ").filter(Boolean), context);
  return { code, out: context.stdout.text, err: context.stderr.text };
}

test("help names every command and every exit code", async () => {
  const { code, out } = await program("help");

  expect(code).toBe(0);
  for (const word of [
    "run",
    "demo",
    "simulate",
    "providers",
    "config",
    "manifests",
    "plan",
    "explain",
    "completion",
    "version",
    "64",
    "69",
    "70",
    "78",
    "130",
  ])
    expect(out).toContain(`  ${word}`);
});

test.each(["--help", "-h"])("%s alone is help", async (flag) => {
  expect(await program(flag)).toEqual(await program("help"));
});

test("simulate runs mock nodes, whatever provider the environment names", async () => {
  const { code, err } = await program("simulate --provider-config kubeconfig", { VKUBELET_PROVIDER: "docker" });

  expect(code).toBe(78);
  // A field of the mock provider.
  expect(err).toContain("podCIDR");
});

test("a simulation whose port is wrong writes nothing", async () => {
  expect((await program("simulate --embedded --port 99999")).code).toBe(78);
  expect(await readdir(folder)).toEqual(["kubeconfig"]);
});

test("--help of a command shows its flags, whatever else is said", async () => {
  const { code, out } = await program("demo --once --help");

  expect(code).toBe(0);
  expect(out).toContain("Usage: virtual-kubelet demo [FLAGS]");
  expect(out).toContain("--kubeconfig FILE");
  expect(out).not.toContain("--provider ");
  expect((await program("help demo")).out).toBe(out);
});

test("the help of a command begins with the flags that only it has", async () => {
  const { out } = await program("simulate --help");

  expect(
    out
      .split("\n")
      .filter((line) => line.startsWith("  "))
      .map((line) => /--([a-z-]+)/.exec(line)?.[1])
      .filter(Boolean)
      .slice(0, 4),
  ).toEqual(["nodes", "name", "pods", "embedded"]);
});

test("the help of a command names a flag's place in the configuration file only if the command reads one", async () => {
  expect((await program("run --help")).out).toContain("config nodes[].labels");
  expect((await program("simulate --help")).out).not.toContain("config nodes[]");
});

test("no line of help is longer than 110 columns", async () => {
  const { out } = await program("help run");

  expect(out.split("\n").filter((line) => line.length > 110)).toEqual([]);
});

test("version says what the program is made of", async () => {
  expect((await program("version")).out).toMatch(
    /^virtual-kubelet \d+\.\d+\.\d+\S* \(Kubernetes v1\.\d+\.\d+, Node\.js v24\.\d+\.\d+\)\n$/,
  );
  expect((await program("--version")).out).toBe((await program("version")).out);
  expect(JSON.parse((await program("version -o json")).out)).toMatchObject({ kubernetes: kubernetesVersion, node: process.version });
});

test("providers are listed, and looked up by name", async () => {
  expect(await program("providers")).toMatchObject({
    code: 0,
    out: `${builtInProviders.map(({ name, aliases }) => [name, ...aliases].join(" ")).join("\n")}\n`,
  });
  const zun = await program("providers openstack");
  expect(zun.out).toMatch(/^zun\naliases: openstack, openstack-zun\nsupported: initContainers, /);
  expect(zun.out).toContain("volumes: cinder, configMap, ");
  expect(zun.out).toMatch(/^ {2}authUrl \(\$OS_AUTH_URL\): /m);
  expect(await program("providers mok")).toEqual({
    code: 64,
    out: "",
    err: 'virtual-kubelet: "mok": unknown provider, expected one of aci, azure, docker, fargate, aws, ecs, kubernetes, cluster, mock, nomad, zun, openstack, openstack-zun, an installed npm package, or the path of a module; did you mean mock?\n',
  });
  expect(JSON.parse((await program("providers -o json")).out)).toEqual(
    expect.arrayContaining(bundled.map((name) => expect.objectContaining({ name }))),
  );
  expect(JSON.parse((await program("providers mock -o json")).out)).toMatchObject({
    name: "mock",
    capabilities: { initContainers: true },
    settings: { properties: { pods: {} } },
  });
});

test("explain says what a reason means, where it is, and what to do", async () => {
  const { code, out, err } = await program("explain providerunsupported");

  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toMatch(
    /^ProviderUnsupported \(reason\)\n\n {2}The pod has a field .+\n\n {2}Where:\n {4}.+written by core\n\n {2}What to do:\n/s,
  );
});

test("explain lists what it knows, in lines that fit 80 columns", async () => {
  const { out } = await program("explain");

  for (const name of ["VK_TERMINAL", "ProviderLost", "OutOf*", "NomadUnplaced", "spec.hostNetwork", "78"]) expect(out).toContain(name);
  expect(out.split("\n").filter((line) => line.length > 80)).toEqual([]);
});

test("explain breaks no line within a command, so that it can be copied", async () => {
  expect((await program("explain NodePorts")).out).toMatch(/`kubectl get pods -A --field-selector spec.nodeName=NODE -o wide`/);
});

test("explain prints JSON", async () => {
  expect(JSON.parse((await program("explain 78 -o json")).out)).toMatchObject([{ kind: "exit code", name: "78" }]);
});

test.for([
  ["ProviderLst", "did you mean ProviderLost?"],
  ["nothing-like-it", '"virtual-kubelet explain" lists all'],
  ["spec.containers[0].image", "no field for which a capability or a policy refuses a pod"],
] as const)("explain %s ends with 64 and says what to do", async ([name, hint]) => {
  const { code, out, err } = await program(`explain ${name}`);

  expect({ code, out }).toEqual({ code: 64, out: "" });
  expect(err).toContain(hint);
});

test("explain knows the reasons of a provider that is not built in", async () => {
  const reasons = '{ AcmeAway: { on: ["podEvent"], meaning: "Acme is away.", remedy: "Wait." } }';
  await writeFile(
    join(folder, "acme.mjs"),
    `export const provider = { name: "acme", capabilities: {}, reasons: ${reasons}, configSchema: { safeParse: () => ({ success: true }) }, create: () => ({}) };`,
  );

  expect((await program("explain AcmeAway")).code).toBe(64);
  expect((await program("explain AcmeAway --provider ./acme.mjs")).out).toContain("Acme is away.");
});

test("providers shows also one that is not built in", async () => {
  await writeFile(
    join(folder, "own.mjs"),
    "export const provider = { name: 'own', capabilities: { env: true }, configSchema: { safeParse: (data) => ({ success: true, data }) }, create() {} };",
  );

  expect(await program("providers ./own.mjs")).toEqual({ code: 0, out: "own\nsupported: env\n", err: "" });
});

test.for<[line: string, code: number, message: string]>([
  [
    "rum",
    64,
    '"rum": unknown command, expected one of run, join, demo, simulate, providers, config, manifests, service, doctor, plan, explain, status, completion, version, help; did you mean run?',
  ],
  [
    "help rum",
    64,
    '"rum": unknown command, expected one of run, join, demo, simulate, providers, config, manifests, service, doctor, plan, explain, status, completion, version, help; did you mean run?',
  ],
  ["--provder mock", 64, '--provder: unknown flag for "run"; did you mean --provider?'],
  ["run extra", 64, '"extra": unexpected argument for "run"'],
  ["--log-level info version", 64, '"version": unexpected argument for "run"; a command comes first: virtual-kubelet version'],
  ["config", 64, "config: missing argument, expected one of validate, print, schema"],
  ["config prnt", 64, '"prnt": unknown argument for "config", expected one of validate, print, schema; did you mean print?'],
  ["plan --provider mock", 64, "plan: missing --filename FILE with a pod"],
  ["plan --provider mock -f no.yaml", 78, '--filename: "no.yaml": not there, expected a readable file'],
  ["version -o yml", 64, '--output: "yml": expected text or json'],
  ["run", 78, "--provider: not set: expected a provider's name, such as mock"],
  [
    "run --provider mok",
    78,
    `--provider: "mok": expected a built-in provider (${builtInProviders.flatMap(({ name, aliases }) => [name, ...aliases]).join(", ")}), an installed npm package, or the path of a module; did you mean mock?`,
  ],
  ["run --provider ./no.ts", 78, '--provider: "./no.ts": does not exist, expected the path of a module'],
  ["run --provider mock --provider-config no.json", 78, '--provider-config: "no.json": not there, expected a readable file'],
  ["run --provider mock --kubeconfig no-such-file", 78, "there is no file"],
  ["simulate --nodes 0", 78, "--nodes: 0: expected a whole number from 1 to 10000"],
  ["simulate --nodes -1", 78, "--nodes: -1: expected a whole number from 1 to 10000"],
  ["simulate --nodes 10001", 78, "--nodes: 10001: expected a whole number from 1 to 10000"],
  ["simulate --nodes 1.5", 78, '--nodes: "1.5": expected a whole number from 1 to 10000'],
  ["simulate --embedded --nodes abc", 78, '--nodes: "abc": expected a whole number from 1 to 10000'],
  ["simulate --kubelet-port -1", 78, "--kubelet-port: -1: expected a whole number from 0 to 65535"],
  ["simulate", 78, "does not run in a pod; or simulate the cluster, too, with --embedded"],
  ["simulate --kubeconfig no-such-file", 78, "there is no file"],
  ["simulate --embedded --port http", 78, '--port: "http": expected a port from 0 to 65535'],
  ["simulate --name A_B", 78, "--name: \"A_B\": expected lower-case letters, digits, '-' and '.'"],
  ["simulate --pods many", 78, '--pods: "many": expected a quantity such as 20'],
  ["simulate --provider-config no.json", 78, '--provider-config: "no.json": not there, expected a readable file'],
  ["simulate --port 6443", 64, "--port: expected together with --embedded"],
  ["manifests rbac --provider mock --group sim", 78, '--run-as: "node": system:node:virtual-kubelet has the lease of its node only'],
  ["demo --port http", 78, '--port: "http": expected a port from 0 to 65535'],
])("virtual-kubelet %s ends with %d and one line", async ([line, code, message]) => {
  const result = await program(line);

  const lines = result.err.split("\n").filter((text) => text !== "" && !text.startsWith("{"));
  expect({ ...result, err: lines }).toEqual({ code, out: "", err: [expect.stringContaining(message)] });
});

test("a wrong value in the provider's configuration is named with file, field and value", async () => {
  await writeFile(join(folder, "mock.toml"), 'cpu = "many"\nmemroy = "1Gi"\n[[stages]]\nexitAfter = "soon"\n');

  const { code, err } = await program("config validate --provider mock --provider-config mock.toml");

  expect(code).toBe(78);
  expect(err.split("\n").filter(Boolean).sort()).toEqual([
    'virtual-kubelet: mock.toml: cpu: "many": expected a quantity such as 20, 500m or 100Gi',
    "virtual-kubelet: mock.toml: memroy: unknown field; did you mean memory?",
    'virtual-kubelet: mock.toml: stages[0].exitAfter: "soon": expected a duration such as 500ms, 2s or 1m30s, or never',
  ]);
});

test("config validate says what would run", async () => {
  await writeFile(
    join(folder, "vk.yaml"),
    "apiVersion: virtual-kubelet.io/v1alpha1\nkind: VirtualKubelet\nnodes:\n- { name: a, provider: mock }\n- { name: b, provider: mock, providerConfig: { pods: 5 } }\n",
  );

  expect(await program("config validate --config vk.yaml --kubeconfig kubeconfig --kubelet-port 0 --health-addr off")).toEqual({
    code: 0,
    out: "configuration is valid: nodes a (mock), b (mock)\n",
    err: "",
  });
});

test("config print is a configuration file again, with the source of each value and no secrets", async () => {
  await writeFile(
    join(folder, "vk.yaml"),
    "apiVersion: virtual-kubelet.io/v1alpha1\nkind: VirtualKubelet\nnodes:\n- { provider: ./provider.mjs, providerConfig: { region: eu, token: hunter22 }, labels: { a: b } }\n",
  );
  await writeFile(
    join(folder, "provider.mjs"),
    "export const provider = { name: 'own', capabilities: {}, configSchema: { safeParse: (data) => ({ success: true, data }) }, create() {} };",
  );

  const { code, out } = await program("config print --config vk.yaml --log-level debug", { KUBELET_PORT: "10250" });

  expect(code).toBe(0);
  expect(out).toContain("level: debug # --log-level");
  expect(out).toContain("kubeletPort: 10250 # $KUBELET_PORT");
  expect(out).toContain("region: eu # vk.yaml");
  expect(out).toContain('token: "[redacted]" # vk.yaml');
  expect(out).toContain("workers: 50 # default");
  expect(out).not.toContain("hunter22");
  await writeFile(join(folder, "again.yaml"), out);
  expect((await program("config validate --config again.yaml --kubeconfig kubeconfig --kubelet-port 0")).code).toBe(0);
  expect(JSON.parse((await program("config print --config again.yaml -o json")).out)).toMatchObject({
    config: { nodes: [{ labels: { a: "b" }, workers: 50 }] },
    sources: { "nodes[0].workers": "again.yaml" },
  });
});

test("config schema is a JSON Schema", async () => {
  expect(JSON.parse((await program("config schema")).out)).toMatchObject({
    $schema: expect.stringContaining("json-schema.org"),
    required: ["apiVersion", "kind", "nodes"],
  });
});

/** Kind, namespace and name of each printed object. */
function printed(out: string): string[] {
  return parseAllDocuments(out).map((document) => {
    const { kind, metadata } = document.toJS() as { kind: string; metadata: { name: string; namespace?: string } };
    return [kind, metadata.namespace, metadata.name].filter(Boolean).join(" ");
  });
}

test("manifests of a node: what its own user needs besides the Node authorizer, and the Node without a status", async () => {
  const { code, out, err } = await program(
    "manifests all --provider mock --nodename vk --node-ip 192.0.2.7 --label zone=a --identity one --on-shutdown drain",
  );

  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(printed(out)).toEqual([
    "RoleBinding kube-system virtual-kubelet:node:vk:authentication",
    "ClusterRole virtual-kubelet:node:vk",
    "ClusterRoleBinding virtual-kubelet:node:vk",
    "Node vk",
  ]);
  expect(parseAllDocuments(out).at(-1)?.toJS()).toEqual({
    apiVersion: "v1",
    kind: "Node",
    metadata: expect.objectContaining({ labels: expect.objectContaining({ zone: "a", type: "virtual-kubelet" }) }),
    spec: expect.objectContaining({ taints: [{ key: "virtual-kubelet.io/provider", value: "mock", effect: "NoSchedule" }] }),
  });
  expect(out).toMatch(/^# For a program whose certificate says system:node:vk, group system:nodes\./);
});

test("manifests of a service account say first what whoever has it can do", async () => {
  const words = "manifests rbac --provider mock --nodename vk --run-as service-account";
  const all = (await program(words)).out;
  const limited = (await program(`${words} --namespaces team-a,team-b`)).out;

  expect(all).toMatch(
    /^# WARNING: these rights allow reading every Secret of the cluster, and making tokens for every service account\.\n/,
  );
  expect(limited).toMatch(/^# WARNING: these rights allow reading every Secret of the namespaces team-a, team-b, /);
  expect(printed(limited).filter((name) => name.startsWith("Role "))).toEqual([
    "Role team-a virtual-kubelet:serviceaccount:vk",
    "Role team-b virtual-kubelet:serviceaccount:vk",
    "Role kube-node-lease virtual-kubelet:serviceaccount:vk:leases",
    "Role default virtual-kubelet:serviceaccount:vk:events",
  ]);
});

test("manifests as JSON are one List, and the warning is on standard error", async () => {
  const { out, err } = await program("manifests rbac --provider mock --nodename vk --run-as service-account -o json");

  expect(JSON.parse(out)).toMatchObject({
    kind: "List",
    items: expect.arrayContaining([expect.objectContaining({ kind: "ServiceAccount" })]),
  });
  expect(err).toContain("WARNING: these rights allow reading every Secret of the cluster");
});

test("two nodes' manifests have no object in common", async () => {
  const of = async (name: string, words: string): Promise<string[]> =>
    printed((await program(`manifests all --provider mock --nodename ${name} ${words}`)).out);
  const names = (
    await Promise.all(["vk-1", "vk-2"].flatMap((name) => [of(name, "--run-as=node"), of(name, "--run-as=service-account")]))
  ).flat();
  const shared = names.filter((name, index) => names.indexOf(name) !== index);

  // The Node itself is the same in both ways to run it.
  expect(shared).toEqual(["Node vk-1", "Node vk-2"]);
});

test("manifests of a Deployment contain the rights of its service account, and say what the pod lacks", async () => {
  await writeFile(join(folder, "nomad.json"), JSON.stringify({ address: "http://nomad:4646" }));
  const words = "manifests deployment --provider nomad --nodename vk --provider-config nomad.json --image registry.example.com/vk:1";

  const { code, out, err } = await program(words, { NOMAD_TOKEN: "t0p" });

  expect(code).toBe(0);
  expect(printed(out)).toEqual([
    "ServiceAccount kube-system virtual-kubelet-vk",
    "ClusterRole virtual-kubelet:serviceaccount:vk",
    "ClusterRoleBinding virtual-kubelet:serviceaccount:vk",
    "Role kube-node-lease virtual-kubelet:serviceaccount:vk:leases",
    "RoleBinding kube-node-lease virtual-kubelet:serviceaccount:vk:leases",
    "RoleBinding kube-system virtual-kubelet:serviceaccount:vk:authentication",
    "ConfigMap kube-system virtual-kubelet-vk",
    "Secret kube-system virtual-kubelet-vk-provider",
    "Deployment kube-system virtual-kubelet-vk",
  ]);
  expect(out).not.toContain("t0p");
  expect(err).toContain("complete the provider's configuration, and the pod lacks them: token (NOMAD_TOKEN)");
});

test.for([
  ["manifests rbac --provider mock --namespaces a", 64, "--namespaces: needs --run-as=service-account"],
  ["manifests rbac --provider mock --run-as service-account --namespaces a,B", 64, '--namespaces: "B": expected names of namespaces'],
  ["manifests rbac --provider mock --run-as root", 64, '--run-as: "root": expected node or service-account'],
  ["manifests rbac --config two.yaml", 78, "system:node:a can only be node a, but the configuration has 2 nodes"],
  ["manifests deployment --provider mock", 64, '--image: "": expected the image of the program'],
  ["manifests deployment --provider mock --image vk:1 --replicas two", 64, '--replicas: "two": expected a number of copies'],
  ["manifests deployment --provider mock --image vk:1 --run-as node", 64, '--run-as: "node": expected service-account for a Deployment'],
  [
    "manifests deployment --provider mock --image vk:1 --cert-dir /var/x",
    78,
    '--cert-dir: "/var/x": expected no file of this machine, because the pod would not have it',
  ],
  [
    "manifests far --provider mock",
    78,
    "far: expected a provider whose back end is a Kubernetes cluster of its own, such as kubernetes, got mock",
  ],
  ["run --provider mock --dry-run", 78, "no cluster to talk to"],
] as const)("virtual-kubelet %s ends with %d, and prints nothing to apply", async ([line, code, message]) => {
  const nodes = "[{ name: a, provider: mock }, { name: b, provider: mock }]";
  await writeFile(join(folder, "two.yaml"), `apiVersion: virtual-kubelet.io/v1alpha1\nkind: VirtualKubelet\nnodes: ${nodes}\n`);

  expect(await program(line)).toEqual({ code, out: "", err: expect.stringContaining(message) });
});

/** A provider whose back end is a Kubernetes cluster, with a node for each of its nodes if the configuration says so. */
const farProvider = `
  const role = (name) => ({ apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: { name, namespace: "pods" }, rules: [] });
  export const provider = {
    name: "far",
    capabilities: {},
    configSchema: { safeParse: (data) => ({ success: true, data }) },
    create: () => ({}),
    neededRights: () => [{ why: "mirrors Services", namespace: "shop", rules: [{ apiGroups: [""], resources: ["services"], verbs: ["create"] }] }],
    backEndManifest: (_config, { nodeName }) => ({
      head: ["for an administrator there"],
      objects: [{ why: "of all", object: role("all") }, { why: "of the node", object: role(nodeName) }],
    }),
    discoverNodes: (_host, { each }) => (each ? { discover: async function* () {}, configOf: () => ({}) } : undefined),
  };`;

test("what an administrator of another cluster applies there is printed apart, shared objects once, and nothing of it with the rest", async () => {
  await writeFile(join(folder, "far.mjs"), farProvider);
  const nodes = "[{ name: a, provider: ./far.mjs }, { name: b, provider: ./far.mjs }]";
  await writeFile(join(folder, "far.yaml"), `apiVersion: virtual-kubelet.io/v1alpha1\nkind: VirtualKubelet\nnodes: ${nodes}\n`);

  const { code, out } = await program("manifests far --config far.yaml");
  expect(code).toBe(0);
  expect(printed(out)).toEqual(["Role pods all", "Role pods a", "Role pods b"]);
  expect(out).toMatch(/^# for an administrator there\n# of all\n/);
  expect(printed((await program("manifests all --provider ./far.mjs --nodename a")).out).filter((name) => name.includes("pods"))).toEqual(
    [],
  );
});

test("the rights that a provider uses itself are printed with the program's", async () => {
  await writeFile(join(folder, "far.mjs"), farProvider);

  const { out } = await program("manifests rbac --run-as service-account --provider ./far.mjs --nodename a");

  expect(printed(out)).toContain("Role shop virtual-kubelet:serviceaccount:a:provider");
});

test("nodes that come and go have no Node to print, and need a service account", async () => {
  await writeFile(join(folder, "far.mjs"), farProvider);
  await writeFile(join(folder, "each.json"), JSON.stringify({ each: true }));
  const words = "--provider ./far.mjs --provider-config each.json --nodename far";

  expect(await program(`manifests rbac ${words}`)).toMatchObject({ code: 78, err: expect.stringContaining("--run-as=service-account") });
  expect(
    printed((await program(`manifests all --run-as service-account ${words}`)).out).filter((name) => name.startsWith("Node ")),
  ).toEqual([]);
});

test("a node may not be called like one that another finds at its back end", async () => {
  await writeFile(join(folder, "far.mjs"), farProvider);
  const nodes = "[{ name: far, provider: ./far.mjs, providerConfig: { each: true } }, { name: far-a, provider: mock }]";
  await writeFile(join(folder, "far.yaml"), `apiVersion: virtual-kubelet.io/v1alpha1\nkind: VirtualKubelet\nnodes: ${nodes}\n`);

  expect(await program("config validate --config far.yaml")).toMatchObject({
    code: 78,
    err: expect.stringContaining("node far-a: its name begins with far-, like those of the nodes that node far finds"),
  });
});

test("the Node of a back end that does not answer is printed all the same, and says so", async () => {
  await writeFile(
    join(folder, "away.mjs"),
    `export const provider = { name: "away", capabilities: {}, configSchema: { safeParse: (data) => ({ success: true, data }) },
       create: () => ({ configureNode: async () => { throw new Error("connect ECONNREFUSED"); } }) };`,
  );

  const { code, out } = await program("manifests node --provider ./away.mjs");

  expect(code).toBe(0);
  expect(out).toMatch(/^# the Node, .*; the provider could not describe it: connect ECONNREFUSED\napiVersion: v1\nkind: Node\n/);
});
