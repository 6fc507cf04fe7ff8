import { provider } from "@virtual-kubelet/provider-kubernetes";
import { freePort } from "@virtual-kubelet/testing";
import { describeProvider, requiredFeatures } from "@virtual-kubelet/testing/conformance";
import { join } from "node:path";
import { afterAll } from "vitest";
import { canOpenTerminals } from "../real-process-provider/spawn-command.ts";
import { FarProcessCluster } from "../support/far-process-cluster/far-process-cluster.ts";
import { farConfig } from "../support/far-process-cluster/messages.ts";
import { reportFile, root } from "./support/paths.ts";
import { processPrograms } from "./support/process-programs.ts";

const far = await FarProcessCluster.open();
afterAll(() => far[Symbol.asyncDispose]());

await describeProvider({
  provider,
  config: { ...farConfig, cluster: { kubeconfig: far.kubeconfig } },
  required: requiredFeatures.kubernetes,
  notRun: canOpenTerminals() ? {} : { "exec-tty": "script(1) of util-linux is not here" },
  programs: processPrograms,
  port: await freePort(),
  backend: {
    losePod: (ref) => far.losePod(ref),
    leftovers: () => far.leftovers(),
    breakBackend: () => far.fail({}),
    breakLists: () => far.fail({ verb: ["list", "watch"] }),
  },
  readme: join(root, "providers/kubernetes/README.md"),
  against: { kind: "fake", name: "an embedded API server with a node that runs processes", version: far.version },
  report: reportFile("kubernetes"),
});
