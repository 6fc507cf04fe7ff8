import { eventually, startReaper } from "@virtual-kubelet/testing";
import { execFile, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { Cluster } from "./support/cluster.ts";
import { diagnose } from "./support/diagnosis.ts";

const root = join(import.meta.dirname, "../..");
const ends = new AsyncDisposableStack();
const home = ends.use(Cluster.home("default"));
const far = ends.use(Cluster.far("vk"));
let folder = "";
/** Of the program that runs the virtual node. */
let log = "";

/** A code block of the guide. */
interface Block {
  readonly language: string;
  readonly text: string;
}

const blocks: readonly Block[] = [
  ...readFileSync(join(root, "docs/guides/kubernetes.md"), "utf8").matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm),
].map(([, language = "", text = ""]) => ({ language, text }));

/** What the block with these words prints. */
const expected: readonly (readonly [words: string, output: RegExp])[] = [
  ["manifests far", /^role\.rbac\.authorization\.k8s\.io\/\S+ created$/m],
  ["get pods -o wide", /^web-\S+\s+1\/1\s+Running\s+0 .* far-1 /m],
  ["logs deployment/web", /^serving\nHello from home\n(.*\n)*Hello from home\n/],
  ["scale deployment/web", /^deployment "web" successfully rolled out$/m],
  ["get pods,configmaps", /^pod\/web-\S+ .*\n(.*\n)*configmap\/pages-\S+ /m],
];

/** Environment of the guide's user: kubectl with two contexts, and the program on the PATH. */
function environment(): Readonly<Record<string, string>> {
  // The program's own variables, which say where the test's API servers find it.
  const own = {
    VKUBELET_NODE_IP: inject("nodeAddress"),
    VKUBELET_HEALTH_ADDR: "off",
    VKUBELET_LOG_LEVEL: "debug",
    STATE_DIRECTORY: join(folder, "state"),
  };
  return { ...own, HOME: folder, KUBECONFIG: join(folder, "kubeconfig"), PATH: `${folder}/bin:${process.env["PATH"]}` };
}

function run(script: string): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve) => {
    const options = { cwd: folder, env: environment(), timeout: 200_000 };
    execFile("sh", ["-euc", script], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : typeof error.code === "number" ? error.code : 1, output: `${stdout}${stderr}` });
    });
  });
}

/** Starts the block that runs until it is stopped. */
async function start(script: string): Promise<void> {
  const reaper = ends.use(startReaper());
  const child = spawn("sh", ["-euc", `exec ${script}`], { cwd: folder, env: environment(), stdio: ["ignore", "ignore", "pipe"] });
  if (child.pid !== undefined) reaper.watch(child.pid);
  child.stderr.setEncoding("utf8").on("data", (text: string) => (log += text));
  ends.defer(() => void child.kill("SIGKILL"));
  await eventually(async () => expect((await home.run("get node far-1")).code, log).toBe(0), { timeoutMs: 60_000, intervalMs: 300 });
}

/** Says why a block failed: in short first, because CI shows only that. @throws always */
async function failed(script: string, output: string): Promise<never> {
  const { summary, details } = await diagnose({ home, far, log: () => log });
  console.error(details);
  const cause = output
    .trimEnd()
    .split("\n")
    .at(-1)
    ?.replace(/^error: /, "");
  throw new Error(`${cause}: ${summary}\n${script}\n${output}`);
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "vk-guide-"));
  ends.defer(() => rmSync(folder, { recursive: true, force: true }));
  const parts = Object.entries({ home, far }).map(([name, { access }]) => {
    const { clusters, users } = JSON.parse(access.kubeconfig.text) as {
      readonly clusters: readonly [{ readonly cluster: object }];
      readonly users: readonly [{ readonly user: object }];
    };
    return { name, cluster: clusters[0].cluster, user: users[0].user, context: { cluster: name, user: name } };
  });
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: parts.map(({ name, cluster }) => ({ name, cluster })),
    users: parts.map(({ name, user }) => ({ name, user })),
    contexts: parts.map(({ name, context }) => ({ name, context })),
    "current-context": "home",
  };
  writeFileSync(join(folder, "kubeconfig"), JSON.stringify(kubeconfig));
  mkdirSync(join(folder, "bin"));
  const { programs } = JSON.parse(readFileSync(join(home.access.directory, "control-plane.json"), "utf8")) as { readonly programs: string };
  const flags = "--conditions=@virtual-kubelet/source --disable-warning=ExperimentalWarning";
  const scripts = {
    kubectl: `exec ${join(programs, "kubectl")} "$@"`,
    "virtual-kubelet": `exec ${process.execPath} ${flags} ${join(root, "packages/cli/src/main.ts")} "$@"`,
  };
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(folder, "bin", name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, "bin", name), 0o755);
  }
});

afterAll(async () => {
  await ends.disposeAsync();
});

test("the guide leads from nothing to a Deployment in the far cluster, with logs, commands, a rollout, and back", async () => {
  const printed: string[] = [];
  for (const { language, text } of blocks) {
    const [, file] = /^# (\S+\.yaml)\n/.exec(text) ?? [];
    if (language === "yaml" && file !== undefined) writeFileSync(join(folder, file), text);
    if (language !== "bash") continue;
    if (text.startsWith("virtual-kubelet run ")) {
      await start(text);
      continue;
    }
    const { code, output } = await run(text);
    if (code !== 0) await failed(text, output);
    printed.push(`${text}\n---\n${output}`);
  }

  for (const [words, pattern] of expected) {
    const [, output = ""] = printed.find((each) => each.split("\n---\n")[0]?.includes(words))?.split("\n---\n") ?? [];
    expect(output, words).toMatch(pattern);
  }
  expect((await home.list("get pods")).map(({ metadata }) => metadata?.name)).toEqual([]);
  expect((await far.list("get all,configmaps,secrets -l virtual-kubelet.io/node=far-1")).map(({ metadata }) => metadata?.name)).toEqual([]);
  await far.say("delete namespace vk --wait=false");
});
