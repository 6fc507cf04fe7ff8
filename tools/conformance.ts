import { ensureControlPlane } from "@virtual-kubelet/testing";
import { missingDocker } from "./docker-engine.ts";
import { ensureKubernetesE2e, missingKubernetesE2e } from "./kubernetes-e2e.ts";
import { inEngineNamespaces } from "./network-namespace.ts";
import { run } from "./run.ts";

const missing = missingDocker() ?? missingKubernetesE2e();
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
