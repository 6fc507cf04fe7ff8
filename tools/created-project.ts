import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { messageOf } from "@virtual-kubelet/errdefs";
import { createKubeClient, resources } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CheckResult } from "./check.ts";
import { node22Folder } from "./node-22/node-22.ts";
import { installOutside, runTests, type OutsideProjectContext } from "./outside-project.ts";
import { run } from "./run.ts";

const name = "npm create @virtual-kubelet/provider";
const nodeName = "created-1";

/**
 * Does what somebody does who begins a provider: creates it, installs, builds, tests, plans a pod and runs one. What the program
 * does is on Node.js 24, which it needs, and all else on Node.js 22: on 24 the suite is run with the template itself.
 */
export async function checkCreatedProject(context: OutsideProjectContext): Promise<CheckResult[]> {
  const { destination, packed } = context;
  const results: CheckResult[] = [];
  const step = async (what: string, work: () => Promise<readonly string[]>): Promise<boolean> => {
    const problems = await work().catch((error: unknown) => [String(error)]);
    results.push({ name: `${name}: ${what}`, problems });
    return problems.length === 0;
  };
  const must = async (program: string, args: readonly string[], cwd: string): Promise<readonly string[]> => {
    const { code, output } = await run(program, args, { cwd, first: node22Folder });
    return code === 0 ? [] : [output];
  };
  const creator = `${destination}-creator`;
  const tarball = packed.packages.find(({ owner }) => owner.folder === "packages/create-provider")?.tarball ?? "";
  mkdirSync(creator);
  const isReady =
    // It has no dependencies: unpacked is installed.
    (await step("unpack", () => must("tar", ["-xzf", tarball], creator))) &&
    (await step("create", () => must("node", ["package/dist/main.js", "created", "--yes", "--directory", destination], creator))) &&
    (await step("install", async () => installOutside(context))) &&
    (await step("build", () => must("node", ["--run", "build"], destination)));
  if (!isReady) return results;
  const bin = (program: string): string => join(destination, "node_modules/.bin", program);
  // The suite waits more than it computes.
  const tests = runTests(name, destination, node22Folder);
  await step("types", () => must(bin("tsc"), ["--pretty", "false"], destination));
  await step("virtual-kubelet plan --provider ./", () => planPod(destination, bin("virtual-kubelet")));
  await step("virtual-kubelet run --provider ./", () => runPod(destination, bin("virtual-kubelet")));
  return [...results, ...(await tests)];
}

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { namespace: "default", name: "hello" },
  spec: { restartPolicy: "Never", containers: [{ name: "main", image: "none", command: ["sh", "-c", "echo hello; exit 3"] }] },
};

async function planPod(cwd: string, program: string): Promise<readonly string[]> {
  writeFileSync(join(cwd, "pod.json"), JSON.stringify(pod));
  const { code, output } = await run(program, ["plan", "--provider", "./", "-f", "pod.json"], { cwd });
  return code === 0 && output.includes("POST /jobs") ? [] : [`exit code ${code}: ${output}`];
}

/** Joins a cluster as users do, and waits until a pod has run to its end. */
async function runPod(cwd: string, program: string): Promise<readonly string[]> {
  await using server = await startApiServer();
  writeFileSync(join(cwd, "kubeconfig"), server.kubeconfig());
  const client = createKubeClient(server.transport());
  const { signal } = new AbortController();
  const words = ["run", "--provider", "./", "--nodename", nodeName, "--kubeconfig", "kubeconfig"];
  const child = spawn(program, [...words, "--kubelet-port", "0", "--health-addr", "off"], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const ended = once(child, "close");
  try {
    await client.create(resources.pods, { ...pod, spec: { ...pod.spec, nodeName } }, { signal });
    await eventually(
      async () => {
        const { status } = await client.get(resources.pods, { namespace: "default", name: "hello" }, { signal });
        const exitCode = status?.containerStatuses?.[0]?.state?.terminated?.exitCode;
        if (exitCode !== 3) throw new Error(`the pod is ${status?.phase}, and its exit code ${exitCode}, expected 3`);
      },
      { timeoutMs: 180_000 },
    );
    return [];
  } catch (error) {
    return [`${messageOf(error)}\n${output}`];
  } finally {
    child.kill("SIGTERM");
    await ended;
  }
}
