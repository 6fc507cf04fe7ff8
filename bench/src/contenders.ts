import { spawn, execFileSync, type ChildProcess } from "node:child_process";
import { mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

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
  /** Whether the program registers its node. */
  readonly registersNode: boolean;
}

/** Our node: the published program with the mock provider. */
export const ours: Contender = {
  name: "ours",
  registersNode: true,
  start: (site) => {
    const config = join(site.directory, "mock.json");
    writeFileSync(config, JSON.stringify({ ours: { cpu: "10k", memory: "100Ti", pods: "5000" } }));
    const main = join(root, "packages/cli/dist/main.js");
    const flags = ["--kubeconfig", site.kubeconfig, "--nodename", "ours", "--provider", "mock", "--provider-config", config];
    return launch(site, "ours", process.execPath, [main, ...flags, "--log-level", "warn", "--health-addr", "127.0.0.1:0"]);
  },
};

/** Our node from its sources, with one version of HTTP for all requests except those of the lease. */
export function oursOver(http: "HTTP/1.1" | "HTTP/2"): Contender {
  const node = http === "HTTP/2" ? "ours-h2" : "ours-h1";
  return {
    name: node,
    registersNode: true,
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

/** The minimal program; see `bare-loop.ts`. */
export const bareLoop: Contender = {
  name: "bare loop",
  registersNode: false,
  start: (site) => launch(site, "bare-loop", process.execPath, [join(import.meta.dirname, "bare-loop.ts"), site.kubeconfig, "bare"]),
};

/** kwok with its own fast stages: no delays, heartbeats by lease. */
export const kwok: Contender = {
  name: "kwok",
  registersNode: false,
  start: (site) => {
    const config = join(site.directory, "kwok.yaml");
    writeFileSync(config, kwokStages());
    const flags = [
      "--kubeconfig",
      site.kubeconfig,
      "--config",
      config,
      "--manage-single-node",
      "kwok",
      "--node-lease-duration-seconds",
      "40",
    ];
    return launch(site, "kwok", kwokProgram(), flags);
  },
};

/** Name of the node that the contender's pods are bound to. */
export function nodeOf(contender: Contender): string {
  return contender.name === "bare loop" ? "bare" : contender.name;
}

/** Path of kwok in Go's build cache; the first call builds it, which takes some minutes. */
export function kwokProgram(): string {
  return goInKwokModule("tool", "-n", "kwok");
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

function launch(site: Site, name: string, program: string, args: readonly string[]): ChildProcess {
  mkdirSync(site.directory, { recursive: true });
  const log = openSync(join(site.directory, `${name}.log`), "a");
  return spawn(program, args, { stdio: ["ignore", "pipe", log] });
}
