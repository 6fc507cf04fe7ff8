import { execFileSync, type ChildProcess } from "node:child_process";
import { mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { spawnChild } from "./children.ts";

const root = join(import.meta.dirname, "../..");
const mainProgram = join(root, "packages/cli/dist/main.js");
const bareLoopProgram = join(import.meta.dirname, "bare-loop.mjs");
const pauseRecorder = join(import.meta.dirname, "pause-recorder.mjs");

/** Environment that a contender runs in. */
export interface Site {
  readonly kubeconfig: string;
  /** Folder for configuration and logs. */
  readonly directory: string;
}

/** A program to measure. */
export interface Contender {
  readonly name: string;
  readonly start: (site: Site) => ChildProcess;
}

/** Our node: the published program with the mock provider. */
export const ours: Contender = { name: "ours", start: (site) => startOurs(site, []) };

/** Our node with a record of its event loops' pauses; see `pause-recorder.mjs`. */
export function oursRecording(prefix: string): Contender {
  return { name: "ours", start: (site) => startOurs(site, ["--import", pauseRecorder], { PAUSES: prefix }) };
}

/** A program that does nothing but record its pauses. */
export function idleLoop(prefix: string): Contender {
  const args = ["--import", pauseRecorder, join(import.meta.dirname, "idle-loop.mjs")];
  return { name: "idle loop", start: (site) => launch(site, "idle-loop", process.execPath, args, { PAUSES: prefix }) };
}

function startOurs(site: Site, nodeFlags: readonly string[], environment: NodeJS.ProcessEnv = {}): ChildProcess {
  const config = join(site.directory, "mock.json");
  writeFileSync(config, JSON.stringify({ ours: { cpu: "100k", memory: "1000Ti", pods: "100000", podCIDR: "10.64.0.0/12" } }));
  const flags = ["--kubeconfig", site.kubeconfig, "--nodename", "ours", "--provider", "mock", "--provider-config", config];
  const args = [...nodeFlags, mainProgram, ...flags, "--log-level", "warn", "--health-addr", "127.0.0.1:0"];
  return launch(site, "ours", process.execPath, args, environment);
}

/** Our node from its sources, with one version of HTTP for all requests except those of the lease. */
export function oursOver(http: "HTTP/1.1" | "HTTP/2"): Contender {
  const node = http === "HTTP/2" ? "ours-h2" : "ours-h1";
  return {
    name: node,
    start: (site) => {
      const flags = [
        "--conditions=@virtual-kubelet/source",
        "--expose-gc",
        join(import.meta.dirname, "our-node.ts"),
        site.kubeconfig,
        node,
      ];
      return launch(site, node, process.execPath, http === "HTTP/2" ? [...flags, "--http2"] : flags);
    },
  };
}

/** The minimal program; see `bare-loop.mjs`. */
export const bareLoop: Contender = {
  name: "bare loop",
  start: (site) => launch(site, "bare-loop", process.execPath, [bareLoopProgram, site.kubeconfig, "bare"]),
};

/** kwok with its own fast stages: no delays, heartbeats by lease. */
export const kwok: Contender = {
  name: "kwok",
  start: (site) => startKwok(site, ["--manage-single-node", "kwok"]),
};

/** Our program with `count` nodes, `ours-0` and so on, which share one server. */
export function oursWithNodes(count: number, kubeletPort: number): Contender {
  return {
    name: "ours",
    start: (site) => {
      const config = join(site.directory, "nodes.json");
      const node = { name: "ours", count, provider: "mock", kubeletPort, providerConfig: { cpu: "1k", memory: "1Ti", pods: "1000" } };
      writeFileSync(config, JSON.stringify({ apiVersion: "virtual-kubelet.io/v1alpha1", kind: "VirtualKubelet", nodes: [node] }));
      const flags = ["--config", config, "--kubeconfig", site.kubeconfig, "--log-level", "warn", "--health-addr", "127.0.0.1:0"];
      return launch(site, "ours", process.execPath, [mainProgram, ...flags]);
    },
  };
}

/** kwok for all nodes of the cluster. */
export const kwokWithNodes: Contender = { name: "kwok", start: (site) => startKwok(site, ["--manage-all-nodes"]) };

/** Name of the node that the contender's pods are bound to. */
export function nodeOf(contender: Contender): string {
  return contender.name === "bare loop" ? "bare" : contender.name;
}

/** Starts kwok with its own fast stages for the nodes that `which` selects. */
function startKwok(site: Site, which: readonly string[]): ChildProcess {
  const config = join(site.directory, "kwok.yaml");
  writeFileSync(config, kwokStages());
  const flags = ["--kubeconfig", site.kubeconfig, "--config", config, ...which, "--node-lease-duration-seconds", "40"];
  return launch(site, "kwok", kwokProgram(), flags);
}

/** Path of kwok: `KWOK`, else in Go's build cache; the first call builds it, which takes some minutes. */
export function kwokProgram(): string {
  return process.env["KWOK"] || goInKwokModule("tool", "-n", "kwok");
}

function kwokStages(): string {
  const stages = join(goInKwokModule("list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"), "kustomize/stage");
  return ["node/fast", "node/heartbeat-with-lease", "pod/fast"]
    .flatMap((folder) => readdirSync(join(stages, folder)).map((file) => join(stages, folder, file)))
    .filter((file) => file.endsWith(".yaml") && !file.endsWith("kustomization.yaml"))
    .map((file) => readFileSync(file, "utf8"))
    .join("\n---\n");
}

/** Output of a Go command in the module that pins kwok. */
function goInKwokModule(...args: readonly string[]): string {
  return execFileSync("go", args, { cwd: join(root, "tools/kwok"), encoding: "utf8" }).trim();
}

function launch(site: Site, name: string, program: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): ChildProcess {
  mkdirSync(site.directory, { recursive: true });
  const log = openSync(join(site.directory, `${name}.log`), "a");
  return spawnChild(program, args, { stdio: ["ignore", "pipe", log], env: { ...process.env, ...environment } });
}
