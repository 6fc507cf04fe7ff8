import { ensureControlPlane } from "@virtual-kubelet/testing";
import { existsSync } from "node:fs";
import { shellProgram } from "../e2e/kubernetes/stand-in-images.ts";
import { missingDocker } from "./docker-engine.ts";
import { ensureKubernetesE2e } from "./kubernetes-e2e.ts";
import { inEngineNamespaces } from "./network-namespace.ts";
import { run } from "./run.ts";

const missing =
  missingDocker() ??
  (existsSync(shellProgram) ? undefined : `there is no ${shellProgram}, for the tests' images: apt-get install bash-static`);
if (missing !== undefined) {
  console.error(`Kubernetes' own tests cannot run here: ${missing}`);
  process.exit(2);
}
const env = {
  KUBEBUILDER_ASSETS: await ensureControlPlane({ onBuild: (how) => console.log(how) }),
  KUBERNETES_E2E: (await ensureKubernetesE2e()).directory,
};
const runner = ["node", "--conditions=@virtual-kubelet/source", "e2e/kubernetes/run.ts", ...process.argv.slice(2)];
const [program, ...args] = inEngineNamespaces(["env", ...runner]);
process.exitCode = (await run(program, args, { env, output: "inherit" })).code;
