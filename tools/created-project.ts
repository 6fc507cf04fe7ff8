import { kinds, type Kind } from "@virtual-kubelet/create-provider";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { messageOf } from "@virtual-kubelet/errdefs";
import { createKubeClient, resources } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CheckResult } from "./check.ts";
import { node22Folder } from "./node-22/node-22.ts";
import type { PackedPackages } from "./packed-packages.ts";
import { run } from "./run.ts";
import { scope } from "./scope.ts";

/** Follows the guide "Writing a provider" with unpublished packages, for each kind of provider. */
export async function checkCreatedProjects(packed: PackedPackages): Promise<CheckResult[]> {
  const folder = mkdtempSync(join(tmpdir(), "vk-created-"));
  try {
    const results = await Promise.all(kinds.map((kind) => checkCreatedProject(kind, join(folder, kind), packed)));
    return results.flat();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Creates a project, installs it with npm from packed packages only, tests it, plans a pod and runs one. The program runs on
 * Node.js 24, which it requires, and everything else on Node.js 22.
 */
async function checkCreatedProject(kind: Kind, folder: string, packed: PackedPackages): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  const step = async (what: string, work: () => Promise<readonly string[]> | readonly string[]): Promise<boolean> => {
    const problems = await Promise.resolve()
      .then(work)
      .catch((error: unknown) => [String(error)]);
    results.push({ name: `create-provider --kind ${kind}: ${what}`, problems });
    return problems.length === 0;
  };
  const npm = async (cwd: string, ...args: readonly string[]): Promise<readonly string[]> => {
    // Packages of this project must come from tarballs, so their registry does not exist.
    const nowhere = `--${scope}:registry=http://127.0.0.1:9/`;
    const { code, output } = await run("npm", [nowhere, "--prefer-offline", "--no-audit", "--no-fund", ...args], {
      cwd,
      first: node22Folder,
    });
    return code === 0 ? [] : [output];
  };
  const creator = packed.packages.find(({ owner }) => owner.folder === "packages/create-provider")?.tarball ?? "";
  const flags = ["created", "--kind", kind, "--tarballs", packed.folder, "--directory", "."];
  mkdirSync(folder, { recursive: true });
  const isReady =
    (await step("create", () => npm(folder, "exec", "--yes", `--package=${creator}`, "--", "create-provider", ...flags))) &&
    // Builds, too.
    (await step("npm install", () => npm(folder, "install")));
  if (!isReady) return results;
  await step("nothing of ours comes from a registry", () => foreignSources(folder));
  await step("node_modules is as small as the README says, and has no native add-on", () => treeProblems(folder));
  // The suite waits more than it computes.
  const tests = step("npm test", () => npm(folder, "test"));
  await step("virtual-kubelet plan --provider ./", () => runPlanCommand(folder));
  await step("virtual-kubelet run --provider ./: the node is Ready, and a pod runs to its end", () => runPod(kind, folder));
  await tests;
  return results;
}

/** One entry of npm's record of what it has installed. */
interface Installed {
  readonly resolved?: string;
}

function installed(folder: string): [path: string, entry: Installed][] {
  const record = JSON.parse(readFileSync(join(folder, "node_modules/.package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, Installed>>;
  };
  return Object.entries(record.packages);
}

function foreignSources(folder: string): string[] {
  const ours = installed(folder).filter(([path]) => path.includes(`node_modules/${scope}/`) || path.endsWith("/virtual-kubelet"));
  if (ours.length === 0) return ["nothing of ours is installed"];
  return ours.filter(([, { resolved }]) => resolved?.startsWith("file:") !== true).map(([path, { resolved }]) => `${path}: ${resolved}`);
}

/** Files of add-ons: for Node.js, for Bare, and what builds them. */
const nativeFiles = ["**/*.node", "**/*.bare", "**/binding.gyp", "**/CMakeLists.txt"];

function treeProblems(folder: string): string[] {
  const native = nativeFiles.flatMap((pattern) => globSync(pattern, { cwd: join(folder, "node_modules") }));
  const bytes = globSync("node_modules/**", { cwd: folder }).reduce((sum, path) => {
    const stats = statSync(join(folder, path));
    return sum + (stats.isFile() ? stats.size : 0);
  }, 0);
  const count = installed(folder).length;
  const readme = readFileSync(join(folder, "README.md"), "utf8");
  const [, packages, megabytes] = /holds at most (\d+) packages in (\d+) MB, and no native add-on/.exec(readme) ?? [];
  return [
    ...native.map((path) => `${path} is of a native add-on`),
    ...(count <= Number(packages) ? [] : [`${count} packages are installed, and README.md says ${packages}`]),
    ...(bytes / 1e6 <= Number(megabytes) ? [] : [`they take ${Math.round(bytes / 1e6)} MB, and README.md says ${megabytes}`]),
  ];
}

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { namespace: "default", name: "hello" },
  spec: { restartPolicy: "Never", containers: [{ name: "main", image: "none", command: ["sh", "-c", "echo hello; exit 3"] }] },
};

const program = (folder: string): string => join(folder, "node_modules/.bin/virtual-kubelet");

async function runPlanCommand(cwd: string): Promise<readonly string[]> {
  writeFileSync(join(cwd, "pod.json"), JSON.stringify(pod));
  const { code, output } = await run(program(cwd), ["plan", "--provider", "./", "-f", "pod.json"], { cwd });
  return code === 0 && output.includes("POST /jobs") ? [] : [`exit code ${code}: ${output}`];
}

/** A program that runs until it is disposed. */
interface Running extends AsyncDisposable {
  /** Output so far. */
  output(): string;
}

function start(command: string, args: readonly string[], cwd: string): Running {
  const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const ended = once(child, "close");
  return {
    output: () => output,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/** Joins a cluster as users do, and waits until the node is Ready and a pod has run to its end. */
async function runPod(kind: Kind, cwd: string): Promise<readonly string[]> {
  await using server = await startApiServer();
  writeFileSync(join(cwd, "kubeconfig"), server.kubeconfig());
  const client = createKubeClient(server.transport());
  const { signal } = new AbortController();
  await using api = kind === "remote" ? start("node", ["test/run-fake-api.ts", "0"], cwd) : undefined;
  const address = api && (await eventually(() => found(/http:\S+\d/, api.output()), { timeoutMs: 60_000 }));
  writeFileSync(join(cwd, "provider.json"), JSON.stringify(address === undefined ? {} : { address }));
  // The kinds run concurrently, and a host runs only one node of a name.
  const nodeName = `created-${kind}`;
  const words = ["run", "--provider", "./", "--provider-config", "provider.json", "--nodename", nodeName, "--kubeconfig", "kubeconfig"];
  await using node = start(program(cwd), [...words, "--kubelet-port", "0", "--health-addr", "off"], cwd);
  try {
    await eventually(
      async () => {
        const { status } = await client.get(resources.nodes, { name: nodeName }, { signal });
        const ready = status?.conditions?.find(({ type }) => type === "Ready");
        if (ready?.status !== "True") throw new Error(`the node's condition Ready is ${ready?.status}: ${ready?.message}`);
      },
      { timeoutMs: 120_000 },
    );
    await client.create(resources.pods, { ...pod, spec: { ...pod.spec, nodeName } }, { signal });
    await eventually(
      async () => {
        const { status } = await client.get(resources.pods, { namespace: "default", name: "hello" }, { signal });
        const exitCode = status?.containerStatuses?.[0]?.state?.terminated?.exitCode;
        if (exitCode !== 3) throw new Error(`the pod is ${status?.phase}, and its exit code ${exitCode}, expected 3`);
      },
      { timeoutMs: 120_000 },
    );
    return [];
  } catch (error) {
    return [`${messageOf(error)}\n${node.output()}`];
  }
}

function found(pattern: RegExp, text: string): string {
  const [match] = pattern.exec(text) ?? [];
  if (match === undefined) throw new Error(`expected ${pattern.source} in ${JSON.stringify(text)}`);
  return match;
}
