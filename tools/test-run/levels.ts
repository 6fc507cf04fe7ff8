import { checkDocuments } from "../check-documents.ts";
import { checkImports } from "../check-imports.ts";
import { checkPackages } from "../check-packages.ts";
import { checkProjects } from "../check-projects.ts";
import { checkRelease } from "../check-release.ts";
import { checkWorkflows, missingWorkflows } from "../check-workflows.ts";
import { findChromium, missingChromium } from "../chromium.ts";
import type { CheckResult } from "../check.ts";
import { removeReports, updateRecords } from "../conformance-records.ts";
import { missingControllerRuntime } from "../controller-runtime.ts";
import { inDockerSurroundings, missingDocker } from "../docker-engine.ts";
import { generate } from "../generate.ts";
import { missingKubernetesE2e } from "../kubernetes-e2e.ts";
import { helm, logShipper, metricsServer, prometheusParser, promqlParser, promtail, promtool, upstreamE2e } from "../go-program.ts";
import { checkMetricUses } from "../metric-uses.ts";
import { checkSite } from "../site/check-links.ts";
import { inEngineNamespaces, inNetworkNamespace, missingNetworkNamespace } from "../network-namespace.ts";
import { checkReasons } from "../reason-catalogues.ts";
import { moto } from "../moto.ts";
import { pythonClient } from "../python-client.ts";
import { missingPackages } from "../python-environment.ts";
import { asRoot } from "../superuser.ts";
import { workflowsLevel } from "../workflow-run/run-levels.ts";
import { zunApi } from "../zun-api.ts";
import type { Level, LevelRun } from "./level.ts";
import {
  controlPlane,
  controlPlaneAndMetrics,
  deployment,
  dockerPrograms,
  kubectl,
  kubernetesE2e,
  monitoringPrograms,
  motoPython,
  nodeNetwork,
  upstreamPrograms,
  zunPython,
} from "./level-programs.ts";
import { checks, command, counted, vitest } from "./level-runs.ts";
import { missingControlPlane, missingKubectl, missingKubeProxy, missingRoot } from "./missing-needs.ts";
import { packageNames, subjectProblems } from "./package-tests.ts";
import { filesThatNoLevelRuns, findTestFiles } from "./test-files.ts";
import { addCounts, type Counts } from "./vitest-report.ts";

/**
 * Runs the provider suite, and then checks that the committed records match its results.
 *
 * @param includes - the providers that this level tries, by tag
 */
async function suite(context: LevelRun, includes: (tag: string) => boolean, tests: () => Promise<Counts>): Promise<Counts> {
  removeReports(includes);
  return addCounts(await tests(), counted(updateRecords({ check: true, includes }), context.say));
}

const isDocker = (tag: string): boolean => tag === "docker";

/** Whether each test file is run by a level and belongs to a package. */
async function checkTestFiles(): Promise<CheckResult[]> {
  const files = await findTestFiles();
  const projects = [...files.keys()].filter((project) => !levels.some(({ name, hasFiles }) => name === project && hasFiles));
  return [
    {
      name: "every project of Vitest is a level",
      problems: projects.map((project) => `project ${project} of vitest.config.ts is no level`),
    },
    { name: "every test file is run by a level", problems: filesThatNoLevelRuns(files).map((file) => `${file} is run by no level`) },
    {
      name: "every test file belongs to a package",
      problems: subjectProblems([...new Set([...files.values()].flat())], packageNames()),
    },
  ];
}

/** All levels of `make test`; the level that fails soonest comes first. */
export const levels: readonly Level[] = [
  {
    name: "static",
    about: "lint, format, dead code, imports, types, catalogues of reasons and metrics, generated pages",
    quick: true,
    kind: "compute",
    hasFiles: false,
    run: checks(async () => [
      await command("lint", "oxlint", ["--quiet"]),
      await command("format", "oxfmt", ["--check"]),
      await command("no unused file, export or dependency (knip)", "knip", ["--no-config-hints"]),
      await command("no file or export that only tests use (knip --production)", "knip", ["--no-config-hints", "--production"]),
      ...checkImports(),
      ...checkDocuments(),
      ...(await checkTestFiles()),
      await command("types (TypeScript 7)", "tsc", ["-p", "tsconfig.json"]),
      ...(await checkReasons()),
      ...checkMetricUses(),
      ...(await generate({ check: true })),
    ]),
  },
  {
    name: "unit",
    about: "tests beside the code, without network and real time",
    quick: true,
    kind: "compute",
    hasFiles: true,
    run: (context) => vitest("unit", context),
  },
  {
    name: "packages",
    about: "every package packed, installed, imported and type-checked, on Node.js 24 and 22; projects of npm create",
    quick: true,
    kind: "compute",
    hasFiles: false,
    run: checks(checkPackages),
  },
  {
    name: "demo",
    about: "make demo ONCE=1",
    quick: true,
    kind: "compute",
    hasFiles: false,
    run: checks(async () => [await command("demo", "node", ["--run", "vk", "--", "demo", "--once"], 300_000)]),
  },
  {
    name: "embedded",
    about: "tests on the embedded API server",
    quick: true,
    kind: "wait",
    hasFiles: true,
    run: (context) => vitest("embedded", context),
  },
  {
    name: "conformance",
    about: "the provider suite, and whether the committed records match its results",
    quick: true,
    kind: "wait",
    hasFiles: true,
    run: (context) =>
      suite(
        context,
        (tag) => !isDocker(tag),
        () => vitest("conformance", context),
      ),
  },
  {
    name: "types-6",
    about: "types under TypeScript 6",
    quick: false,
    kind: "compute",
    hasFiles: false,
    run: checks(async () => [await command("types (TypeScript 6)", "tsc6", ["-p", "tsconfig.json"])]),
  },
  {
    name: "simulation",
    about: "SEEDS worlds (1000) of the whole system on simulated time, and known bugs they have to find; SEED=n replays one",
    quick: false,
    kind: "compute",
    hasFiles: true,
    run: (context) => vitest("simulation", context),
  },
  {
    name: "projects",
    about: "projects that use the packed packages; a provider added to a copy of all this",
    quick: false,
    kind: "compute",
    hasFiles: false,
    run: checks(checkProjects),
  },
  {
    name: "root",
    about: "tests beside the code that only root can run: owners of files, mounts",
    quick: false,
    kind: "compute",
    hasFiles: true,
    missing: missingRoot,
    run: (context) => vitest("root", context, {}, (command) => asRoot(command) ?? command),
  },
  {
    name: "docs",
    about: "the documentation site, warnings as errors; its links, with their anchors",
    quick: false,
    kind: "compute",
    hasFiles: false,
    run: checks(async () => [await command("typedoc", "typedoc"), ...checkSite()]),
  },
  {
    name: "release",
    about: "a whole release of this commit to a registry on loopback, and what was published, used from empty folders",
    quick: false,
    // It mostly waits for downloads.
    kind: "wait",
    hasFiles: false,
    run: async ({ say }) => counted(await checkRelease(say), say),
  },
  {
    name: workflowsLevel,
    about:
      "every step of .github/workflows on this commit, as an ordinary user on an imitation of the service's machine, with a few tests of each level and the last entry of each matrix",
    quick: false,
    kind: "compute",
    hasFiles: false,
    missing: missingWorkflows,
    // The jobs find these programs in the cache.
    prepare: async () => [await nodeNetwork(), await monitoringPrograms()],
    run: async ({ say }) => counted(await checkWorkflows({ levels, say }), say),
  },
  {
    name: "kubectl",
    about: "every kubectl of this machine (KUBECTL: only that one), and other clients' streams, on the embedded API server",
    quick: false,
    kind: "wait",
    hasFiles: true,
    missing: missingKubectl,
    prepare: kubectl,
    run: async (context) => vitest("kubectl", context, await kubectl()),
  },
  {
    name: "upstream",
    about:
      "controller-runtime's own test suites, and the examples in Go and Python, on the embedded API server (CONTROLLER_RUNTIME: a folder with built suites)",
    quick: false,
    // Its tests give the server five seconds: it does not run beside the level `workflows`, which uses all processors.
    kind: "compute",
    hasFiles: true,
    missing: () => missingControllerRuntime() ?? missingPackages(pythonClient),
    prepare: upstreamPrograms,
    run: async (context) => {
      await upstreamPrograms();
      return vitest("upstream", context);
    },
  },
  {
    name: "monitoring",
    about: "alerts and dashboard with Prometheus' own promtool and parser",
    quick: false,
    kind: "compute",
    hasFiles: true,
    missing: () => promtool.missing() ?? promqlParser.missing(),
    prepare: monitoringPrograms,
    run: async (context) => vitest("monitoring", context, await monitoringPrograms()),
  },
  {
    name: "browser",
    about: "pages in a headless Chromium (CHROMIUM: that one)",
    quick: false,
    kind: "wait",
    hasFiles: true,
    missing: missingChromium,
    run: (context) => vitest("browser", context, { CHROMIUM: findChromium() ?? "" }),
  },
  {
    name: "control-plane",
    about: "tests on a real kube-apiserver",
    quick: false,
    kind: "wait",
    hasFiles: true,
    missing: missingControlPlane,
    prepare: controlPlane,
    run: async (context) => vitest("control-plane", context, await controlPlane()),
  },
  {
    name: "docker",
    about: "tests on a Docker engine of their own, with a real kube-apiserver (VK_TEST_DOCKER_HOST: on that engine)",
    quick: false,
    kind: "wait",
    hasFiles: true,
    missing: () =>
      missingControlPlane() ??
      missingDocker() ??
      metricsServer.missing() ??
      prometheusParser.missing() ??
      logShipper.missing() ??
      promtail.missing() ??
      missingKubeProxy(),
    prepare: dockerPrograms,
    run: async (context) => {
      const environment = await dockerPrograms();
      return suite(context, isDocker, () => vitest("docker", context, environment, inDockerSurroundings));
    },
  },
  {
    name: "node-network",
    about:
      "tests in a network namespace where the node's address is no loopback: node proxy, metrics-server, autoscaler, upstream's end-to-end suite",
    quick: false,
    kind: "wait",
    hasFiles: true,
    missing: () => missingControlPlane() ?? missingNetworkNamespace() ?? metricsServer.missing() ?? upstreamE2e.missing(),
    prepare: nodeNetwork,
    run: async (context) => vitest("node-network", context, await nodeNetwork(), inNetworkNamespace),
  },
  {
    name: "deployment",
    about: "the container images, the Helm chart and the printed manifests, on a Docker engine of its own and a real kube-apiserver",
    quick: false,
    kind: "wait",
    hasFiles: true,
    missing: () => missingControlPlane() ?? missingDocker({ ...process.env, VK_TEST_DOCKER_HOST: undefined }) ?? helm.missing(),
    prepare: deployment,
    run: async (context) => vitest("deployment", context, await deployment(), inEngineNamespaces),
  },
  {
    name: "clusters",
    about:
      "tests on two real control planes, with pods of one in the other, and in clouds' fakes whose containers run on a Docker engine of their own",
    quick: false,
    kind: "wait",
    hasFiles: true,
    missing: () => missingControlPlane() ?? missingDocker({ ...process.env, VK_TEST_DOCKER_HOST: undefined }) ?? metricsServer.missing(),
    prepare: controlPlaneAndMetrics,
    run: async (context) => vitest("clusters", context, await controlPlaneAndMetrics(), inEngineNamespaces),
  },
  {
    name: "sigs",
    about:
      "Kubernetes' own Conformance tests of sig-api-machinery and sig-apps on the embedded API server, with nodes on a Docker engine of their own (KUBERNETES_E2E: a folder with built tests)",
    quick: false,
    kind: "wait",
    hasFiles: true,
    missing: () => missingKubectl() ?? missingDocker({ ...process.env, VK_TEST_DOCKER_HOST: undefined }) ?? missingKubernetesE2e(),
    prepare: kubernetesE2e,
    run: async (context) => vitest("sigs", context, await kubernetesE2e(), inEngineNamespaces),
  },
  {
    name: "zun",
    about: "tests on Zun's own API, from PyPI on SQLite (ZUN_API_PYTHON: a Python that has it)",
    quick: false,
    kind: "wait",
    hasFiles: true,
    missing: () => missingPackages(zunApi),
    prepare: zunPython,
    run: async (context) => vitest("zun", context, await zunPython()),
  },
  {
    name: "moto",
    about: "the fake of Amazon ECS beside moto, and its facts beside AWS's models, from PyPI (MOTO_PYTHON: a Python that has both)",
    quick: false,
    kind: "wait",
    hasFiles: true,
    missing: () => missingPackages(moto),
    prepare: motoPython,
    run: async (context) => vitest("moto", context, await motoPython()),
  },
];

/** Targets of `make` that no level runs. */
export const otherCommands: readonly { readonly command: string; readonly about: string }[] = [
  { command: "make bench", about: "benchmark against a real control plane" },
  { command: "make mutation PACKAGE=core", about: "whether unit tests notice changed lines" },
  { command: "make workflows FULL=1", about: "the level workflows with all tests of each level, and each entry of each matrix" },
  { command: "make e2e-docker", about: "the docker level on an engine of today" },
  { command: "make e2e-nomad", about: "the Nomad provider on a real agent" },
  {
    command: "make conformance",
    about: 'Kubernetes\' own end-to-end tests on the Docker provider, or with ARGS="--provider kubernetes" in another cluster',
  },
  { command: "SEEDS=20000 make test LEVEL=simulation", about: "more worlds than CI lives through" },
];
