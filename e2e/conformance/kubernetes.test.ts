import { provider } from "@virtual-kubelet/provider-kubernetes";
import { freePort } from "@virtual-kubelet/testing";
import { describeProvider, requiredFeatures, shellPrograms, type Program, type Recipe } from "@virtual-kubelet/testing/conformance";
import { join } from "node:path";
import { afterAll } from "vitest";
import { canOpenTerminals } from "../real-process-provider/spawn-command.ts";
import { FarProcessCluster } from "../support/far-process-cluster/far-process-cluster.ts";
import { farConfig } from "../support/far-process-cluster/messages.ts";
import { reportFile, root } from "./support/paths.ts";

const far = await FarProcessCluster.open();
afterAll(() => far[Symbol.asyncDispose]());

const shell = shellPrograms({ image: "none" });

/** An HTTP server of Node.js, as the machine has no other for certain. */
function programs(program: Program, container: string): Recipe {
  if (program.kind !== "http") return shell(program, container);
  const script = `require("node:http").createServer((_, response) => response.end("hello\\n")).listen(${program.port}, "127.0.0.1")`;
  return { container: { image: "none", command: [process.execPath, "-e", script] } };
}

await describeProvider({
  provider,
  config: { ...farConfig, cluster: { kubeconfig: far.kubeconfig } },
  required: requiredFeatures.kubernetes,
  notRun: canOpenTerminals() ? {} : { "exec-tty": "script(1) of util-linux is not here" },
  programs,
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
