import { env } from "node:process";
import { defaultServerConditions } from "vite";
import { configDefaults, defineConfig, type ViteUserConfig } from "vitest/config";

// Tests run on sources: workspace packages resolve through this export condition, so no build comes first.
// Node.js does not have the condition "module": what packages name there, such as AWS's clients, is for bundlers and does not load in Node.js.
const conditions = ["@virtual-kubelet/source", ...defaultServerConditions.filter((condition) => condition !== "module")];

/** Run on the embedded API server, and on the real one: what the two answer is compared. */
const parityTests = "e2e/parity/**/*.test.ts";

/** Version of the real API server that the embedded one imitates. Others answer otherwise, so nothing is compared with them. */
const parityVersion = "1.36";

/** Streams of every client through an API server to a node of real processes. */
const interopTests = "e2e/interop/**/*.test.ts";

/** Tests beside the code that only root can run: owners of files, mounts. */
const rootTests = ["packages/*/src/**/*.root.test.ts", "providers/*/src/**/*.root.test.ts"];

/** Tests that wait for processes and timers more than they compute; Vitest's own choice is a processor less than there are. */
const waitingWorkers = 3;

/** A test that asserts nothing can hardly fail. */
const assertions = { poll: { timeout: 30_000 }, requireAssertions: true };

/** A whole number from the environment. @throws if it is something else */
function count(name: "SEEDS" | "SEED", fallback: number, least: number): number {
  const text = env[name];
  const value = text === undefined || text === "" ? fallback : Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`${name} is "${text}"; expected a whole number, ${least} or more, such as ${name}=${fallback}`);
}

const config: ViteUserConfig = defineConfig({
  environments: { __vitest__: { resolve: { conditions } } },
  ssr: { resolve: { conditions } },
  test: {
    // A worker loads modules once, not once for each of its files: a third of the processor's time. Levels that own an engine or a
    // namespace keep a worker for each file, because they look for what a test leaves open.
    isolate: false,
    // A second, as it is by default, says more of a busy machine than of what is waited for.
    expect: { poll: { timeout: 30_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          maxWorkers: "100%",
          setupFiles: ["tools/property-seed.ts", "tools/patient-waits.ts"],
          expect: assertions,
          include: [
            "packages/*/src/**/*.test.ts",
            "providers/*/src/**/*.test.ts",
            "templates/*/src/**/*.test.ts",
            "tools/**/*.test.ts",
            "e2e/kubernetes/*.test.ts",
          ],
          exclude: [...configDefaults.exclude, ...rootTests],
          // Milliseconds are enough; a busy machine, and processes that some of them start, take their time.
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: "root",
          setupFiles: ["tools/patient-waits.ts"],
          include: rootTests,
          expect: assertions,
          testTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: "simulation",
          include: [!env["SEED"] ? "e2e/simulation/!(replay).test.ts" : "e2e/simulation/replay.test.ts"],
          provide: { simulation: { seeds: count("SEEDS", 1000, 1), seed: count("SEED", 0, 0) } },
          testTimeout: 1_200_000,
          fileParallelism: false,
        },
      },
      {
        extends: true,
        test: {
          name: "conformance",
          include: ["e2e/conformance/**/*.test.ts"],
          // A file for each provider, whose tests wait for their back ends one by one.
          maxWorkers: 6,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: "embedded",
          include: [
            "e2e/embedded/**/*.test.ts",
            "e2e/aci/*.test.ts",
            "e2e/fargate/*.test.ts",
            "e2e/nomad/*.test.ts",
            "e2e/support/**/*.test.ts",
            parityTests,
          ],
          globalSetup: ["e2e/parity/support/compare-only.ts"],
          setupFiles: ["tools/patient-waits.ts"],
          expect: assertions,
          provide: { parityServer: "embedded" },
          maxWorkers: waitingWorkers,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        extends: true,
        test: {
          name: "kubectl",
          include: ["e2e/kubectl/**/*.test.ts", interopTests],
          provide: { parityServer: "embedded" },
          maxWorkers: waitingWorkers,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        extends: true,
        test: {
          name: "upstream",
          include: ["e2e/upstream/**/*.test.ts"],
          expect: assertions,
          // Upstream's tests expect answers within a second, and a suite of them takes minutes.
          maxWorkers: 1,
          testTimeout: 1_200_000,
          hookTimeout: 1_800_000,
        },
      },
      {
        extends: true,
        test: {
          name: "monitoring",
          include: ["e2e/monitoring/**/*.test.ts"],
          expect: assertions,
          testTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: "browser",
          include: ["e2e/browser/**/*.test.ts"],
          expect: assertions,
          // Each file has a browser of its own, and a browser has processes of its own.
          maxWorkers: 2,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        extends: true,
        test: {
          name: "control-plane",
          include: [
            "e2e/control-plane/**/*.test.ts",
            interopTests,
            ...((env["KUBERNETES"] || parityVersion) === parityVersion ? [parityTests] : []),
          ],
          globalSetup: ["e2e/control-plane/support/global-setup.ts"],
          provide: { parityServer: "kube-apiserver" },
          testTimeout: 300_000,
          hookTimeout: 600_000,
          maxWorkers: waitingWorkers,
        },
      },
      {
        extends: true,
        test: {
          name: "node-network",
          isolate: true,
          include: ["e2e/node-network/**/*.test.ts"],
          globalSetup: ["e2e/node-network/support/global-setup.ts"],
          testTimeout: 400_000,
          hookTimeout: 400_000,
          maxWorkers: 2,
        },
      },
      {
        extends: true,
        test: {
          name: "deployment",
          isolate: true,
          include: ["e2e/deployment/**/*.test.ts"],
          globalSetup: ["e2e/deployment/support/global-setup.ts"],
          expect: assertions,
          testTimeout: 400_000,
          hookTimeout: 400_000,
          maxWorkers: 2,
        },
      },
      {
        extends: true,
        test: {
          name: "clusters",
          isolate: true,
          include: ["e2e/clusters/**/*.test.ts", "e2e/clouds/*.test.ts"],
          globalSetup: ["e2e/clusters/support/global-setup.ts"],
          expect: assertions,
          testTimeout: 400_000,
          hookTimeout: 400_000,
          maxWorkers: 2,
        },
      },
      {
        extends: true,
        test: {
          name: "sigs",
          include: ["e2e/sigs/**/*.test.ts"],
          expect: assertions,
          // All of Kubernetes' tests run before the first result is looked at.
          hookTimeout: 3_600_000,
          maxWorkers: 1,
        },
      },
      {
        extends: true,
        test: {
          name: "moto",
          isolate: true,
          include: ["e2e/fargate/moto/**/*.test.ts"],
          expect: assertions,
          testTimeout: 120_000,
          hookTimeout: 300_000,
        },
      },
      {
        extends: true,
        test: {
          name: "zun",
          isolate: true,
          include: ["e2e/zun/**/*.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 300_000,
        },
      },
      {
        extends: true,
        test: {
          name: "docker",
          isolate: true,
          include: ["e2e/docker/**/*.test.ts"],
          globalSetup: ["e2e/docker/support/global-setup.ts"],
          // Longer than all that a test waits for in turn, so that what it waited for is told.
          testTimeout: 600_000,
          hookTimeout: 600_000,
          maxWorkers: 2,
        },
      },
    ],
  },
});

export default config;
