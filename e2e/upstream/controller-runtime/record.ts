/**
 * Runs controller-runtime's suites on a real kube-apiserver and writes down what they do there.
 *
 * Use: `KUBEBUILDER_ASSETS=DIRECTORY node --conditions=@virtual-kubelet/source e2e/upstream/controller-runtime/record.ts`. Without KUBEBUILDER_ASSETS,
 * the control plane is built.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { ensureControlPlane } from "@virtual-kubelet/testing";
import { controllerRuntimeSuites, ensureControllerRuntime } from "../../../tools/controller-runtime.ts";
import { toRealResult, writeRealResults, type RealResult } from "./real-results.ts";
import { runSuite } from "./run-suite.ts";

const assets = await ensureControlPlane({ programs: ["etcd", "kube-apiserver", "kubectl"], onBuild: (how) => console.log(how) });
const kubernetes = spawnSync(join(assets, "kube-apiserver"), ["--version"], { encoding: "utf8" }).stdout.trim().replace("Kubernetes ", "");
const tests = await ensureControllerRuntime();
const suites: Record<string, RealResult> = {};
for (const suite of controllerRuntimeSuites) {
  const result = toRealResult(await runSuite(tests, suite, assets));
  console.log(`${suite}: ${String(result.passed)} passed`, result.failed);
  suites[suite] = result;
}
writeRealResults({ version: tests.version, kubernetes, suites });
