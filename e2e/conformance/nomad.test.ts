import { provider } from "@virtual-kubelet/provider-nomad";
import { freePort } from "@virtual-kubelet/testing";
import { describeProvider, requiredFeatures, shellPrograms, type Program, type Recipe } from "@virtual-kubelet/testing/conformance";
import { join } from "node:path";
import { afterAll } from "vitest";
import { openNomad, suiteJobId } from "../nomad/backend.ts";
import { canOpenTerminals } from "../real-process-provider/spawn-command.ts";
import { reportFile, root } from "./support/paths.ts";

// The fake, or with E2E_NOMAD=real the agent that NOMAD_ADDR names.
const nomad = await openNomad();
afterAll(() => nomad[Symbol.asyncDispose]());

const shell = shellPrograms({ image: nomad.image });

/** Tasks of raw_exec, and the fake's, are processes of this machine, which has no `nc` for certain. */
function programs(program: Program, container: string): Recipe {
  if (program.kind !== "http" || (nomad.kind === "real" && nomad.driver === "docker")) return shell(program, container);
  const script = `require("node:http").createServer((_, response) => response.end("hello\\n")).listen(${program.port}, "127.0.0.1")`;
  return { container: { image: nomad.image, command: [process.execPath, "-e", script] } };
}

const { fake } = nomad;

/** Lets requests fail until it is disposed. */
async function failing(isFailing: (path: string) => boolean, fault: "drop" | "cut"): Promise<AsyncDisposable> {
  if (fake) fake.fault = ({ path }) => (isFailing(path) ? fault : undefined);
  return {
    async [Symbol.asyncDispose]() {
      if (fake) fake.fault = undefined;
    },
  };
}

/** As the agent names itself, such as `2.0.6` or `2.0.6-dev`. */
async function agentVersion(): Promise<string | undefined> {
  const { body } = await nomad.request("GET", "/agent/self");
  const { Version = "", VersionPrerelease = "" } =
    (body as { readonly config?: { readonly Version?: { readonly Version?: string; readonly VersionPrerelease?: string } } }).config
      ?.Version ?? {};
  return [Version, VersionPrerelease].filter((part) => part !== "").join("-") || undefined;
}

await describeProvider({
  provider,
  config: {
    address: nomad.address,
    ...(nomad.token !== undefined && { token: nomad.token }),
    driver: nomad.driver,
    network: nomad.network,
    purgeAfter: "1s",
    restart: { attempts: 10, interval: "5m", delay: "1s" },
    defaultMemory: "32Mi",
    defaultCpu: "10m",
  },
  required: [...requiredFeatures.nomad, "notifications", "networks", "sidecar-containers", "restarts", "exec-tty", "port-forward"],
  lacks: { "logs-previous": "Nomad keeps one log for all instances of a container" },
  notRun: {
    ...(nomad.driver === "raw_exec" && { files: "raw_exec mounts nothing: files are below the task's folder" }),
    ...(nomad.kind === "fake" && !canOpenTerminals() && { "exec-tty": "script(1) of util-linux is not here" }),
  },
  programs,
  port: await freePort(),
  timeouts: { startMs: 30_000, endMs: 30_000, callMs: 15_000 },
  backend: {
    losePod: async (ref) => void (await nomad.request("DELETE", `/job/${suiteJobId(ref)}?purge=true`)),
    ...(fake && {
      leftovers: async () => [...fake.cluster.state.jobs.keys(), ...fake.cluster.state.variables.keys()],
      breakBackend: () => failing(() => true, "drop"),
      breakLists: () => failing((path) => path === "/v1/allocations", "cut"),
    }),
  },
  readme: join(root, "providers/nomad/README.md"),
  ...(nomad.kind === "fake"
    ? { report: reportFile("nomad"), against: { kind: "fake", name: "a fake of Nomad, held to answers that were recorded from an agent" } }
    : {
        // The record is that of raw_exec, which needs no engine.
        report: reportFile(nomad.driver === "docker" ? "nomad-docker.real" : "nomad.real"),
        against: { kind: "real", name: `tasks of ${nomad.driver} on Nomad`, version: await agentVersion() },
      }),
});
