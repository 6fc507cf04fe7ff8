import { ensureControlPlane, findControlPlane } from "@virtual-kubelet/testing";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { printChecks, type CheckResult } from "./check.ts";
import { checkImports } from "./check-imports.ts";
import { checkLinks } from "./check-links.ts";
import { checkNewProvider } from "./check-new-provider.ts";
import { checkPackages } from "./check-packages.ts";
import { reportFolder, updateRecords } from "./conformance-records.ts";
import { inDockerSurroundings, missingDocker } from "./docker-engine.ts";
import { generate } from "./generate.ts";
import { ensureMetricsServer, missingMetricsServer } from "./metrics-server.ts";
import { inNetworkNamespace, missingNetworkNamespace } from "./network-namespace.ts";
import { run } from "./run.ts";
import { countReport, type Counts, type VitestReport } from "./vitest-report.ts";
import { root } from "./workspace.ts";
import { ensureZunApi, missingZunApi } from "./zun-api.ts";

/** A kind of check that `make test` runs. */
export interface Level {
  readonly name: string;
  readonly about: string;
  /** What keeps it from running here and how to get it; `undefined` if it can run. */
  missing?(): string | undefined;
  run(): Promise<Counts>;
}

const reports = join(root, ".reports");

/** Runs a command as a check: it passes if it ends with 0, and its output is the problem otherwise. */
async function command(name: string, program: string, args: readonly string[] = [], timeoutMs = 600_000): Promise<CheckResult> {
  const { code, output } = await run(program, args, { timeoutMs });
  return { name, problems: code === 0 ? [] : [output] };
}

/** Prints the checks' results and counts them. */
function counted(results: readonly CheckResult[]): Counts {
  return { ...printChecks(results), skipped: 0 };
}

/** Runs one project of vitest.config.ts, shows its output, and counts its JSON report. */
async function vitest(
  project: string,
  env: Readonly<Record<string, string>> = {},
  wrap: (command: readonly [string, ...string[]]) => readonly [string, ...string[]] = (command) => command,
): Promise<Counts> {
  const file = join(reports, `${project}.json`);
  rmSync(file, { force: true });
  mkdirSync(reports, { recursive: true });
  const [program, ...args] = wrap([
    "vitest",
    "run",
    "--project",
    project,
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${file}`,
  ]);
  const { code } = await run(program, args, { env, show: true });
  return countReport(existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as VitestReport) : undefined, code);
}

/** The environment in which tests find etcd, kube-apiserver and kubectl, built first if they have to be; empty if they cannot be had. */
async function controlPlaneEnvironment(): Promise<Record<string, string>> {
  if (findControlPlane().status === "missing") return {};
  const directory = await ensureControlPlane({ onBuild: (how) => console.log(how) });
  return { KUBEBUILDER_ASSETS: directory };
}

/** The suite, and then whether the committed records say what it found. */
async function runConformance(): Promise<Counts> {
  rmSync(reportFolder, { recursive: true, force: true });
  return both(await vitest("conformance"), counted(updateRecords({ check: true })));
}

function both(one: Counts, other: Counts): Counts {
  return {
    passed: one.passed + other.passed,
    failed: one.failed + other.failed,
    skipped: one.skipped + other.skipped,
    failures: [...one.failures, ...other.failures],
  };
}

/** Why there is no control plane, if there is none. */
function missingControlPlane(): string | undefined {
  const lookup = findControlPlane();
  return lookup.status === "missing" ? lookup.how : undefined;
}

/** The levels of CI, in the order in which they run: what fails soonest comes first. */
export const levels: readonly Level[] = [
  {
    name: "static",
    about: "lint, format, imports, types under both compilers, generated pages",
    run: async () =>
      counted([
        await command("lint", "oxlint", ["--quiet"]),
        await command("format", "oxfmt", ["--check"]),
        ...checkImports(),
        ...checkLinks(),
        await command("types (TypeScript 7)", "tsc", ["-p", "tsconfig.json"]),
        await command("types (TypeScript 6)", "tsc6", ["-p", "tsconfig.json"]),
        ...(await generate({ check: true })),
      ]),
  },
  { name: "unit", about: "tests beside the code, without network and real time", run: () => vitest("unit") },
  { name: "conformance", about: "the suite that every provider passes, and what the documents say of it", run: runConformance },
  { name: "embedded", about: "tests on the embedded API server", run: async () => vitest("embedded", await controlPlaneEnvironment()) },
  {
    name: "simulation",
    about: "SEEDS worlds (1000) of the whole system on simulated time, and known bugs they have to find; SEED=n replays one",
    run: () => vitest("simulation"),
  },
  {
    name: "control-plane",
    about: "tests on a real kube-apiserver",
    missing: missingControlPlane,
    run: async () => vitest("control-plane", await controlPlaneEnvironment()),
  },
  {
    name: "node-network",
    about: "tests in a network namespace where the node's address is no loopback: node proxy, metrics-server, autoscaler",
    missing: () => missingControlPlane() ?? missingNetworkNamespace() ?? missingMetricsServer(),
    run: async () =>
      vitest("node-network", { ...(await controlPlaneEnvironment()), METRICS_SERVER: await ensureMetricsServer() }, inNetworkNamespace),
  },
  {
    name: "docker",
    about: "tests on a Docker engine of their own, with a real kube-apiserver (VK_TEST_DOCKER_HOST: on that engine)",
    missing: () => missingControlPlane() ?? missingDocker() ?? missingMetricsServer(),
    run: async () => {
      const environment = { ...(await controlPlaneEnvironment()), METRICS_SERVER: await ensureMetricsServer() };
      return both(await vitest("docker", environment, inDockerSurroundings), counted(updateRecords({ check: true })));
    },
  },
  {
    name: "zun",
    about: "tests on Zun's own API, from PyPI on SQLite (ZUN_API_PYTHON: a Python that has it)",
    missing: missingZunApi,
    run: async () => vitest("zun", { ZUN_API_PYTHON: await ensureZunApi() }),
  },
  {
    name: "packages",
    about: "every package packed, installed, imported and type-checked; projects that use them; a provider added to a copy of all this",
    run: async () => counted([...(await checkPackages()), ...(await checkNewProvider())]),
  },
  { name: "docs", about: "the documentation site, warnings as errors", run: async () => counted([await command("typedoc", "typedoc")]) },
  {
    name: "demo",
    about: "make demo ONCE=1",
    run: async () => counted([await command("demo", "node", ["--run", "vk", "--", "demo", "--once"], 300_000)]),
  },
];

/** What `make` offers besides, that CI does not run. */
export const otherLevels: readonly { readonly command: string; readonly about: string }[] = [
  { command: "make bench", about: "benchmark against a real control plane" },
  { command: "make e2e-docker", about: "the docker level on an engine of today" },
  { command: "make e2e-nomad", about: "the Nomad provider on a real agent" },
  { command: "make conformance", about: "Kubernetes' own end-to-end tests on the Docker provider" },
  { command: "SEEDS=20000 make test LEVEL=simulation", about: "more worlds than CI lives through" },
];
