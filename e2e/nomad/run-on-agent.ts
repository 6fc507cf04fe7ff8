import { systemClock } from "@virtual-kubelet/clock";
import { freePort, startProcess, startReaper } from "@virtual-kubelet/testing";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inDockerSurroundings, missingDocker } from "../../tools/docker-engine.ts";
import { importImages } from "../docker/support/busybox-image.ts";
import { EngineApi } from "../docker/support/engine-api.ts";
import { PrivateEngine } from "../docker/support/private-engine.ts";

// Runs the contract tests, commands, the kubectl test and the conformance suite on a real agent: the one that NOMAD_ADDR names, whose
// raw_exec driver must be enabled, or one that is started with the `nomad` on the PATH. If the machine supports it, a second agent is
// started with a private Docker engine, on which the suite runs with the docker driver.

const startTimeoutMs = 60_000;
const stopTimeoutMs = 60_000;

/** Configuration of an agent for tests: it runs processes of the machine or containers of an engine, and does not look for a cloud. */
function agentConfig(ports: readonly [http: number, rpc: number, serf: number], folder: string, dockerHost: string | undefined): string {
  const [http, rpc, serf] = ports;
  return `
data_dir = "${join(folder, "data")}"
disable_update_check = true
ports { http = ${http} rpc = ${rpc} serf = ${serf} }
client { options = { "fingerprint.denylist" = "env_aws,env_gce,env_azure,env_digitalocean" } }
plugin "raw_exec" { config { enabled = true } }
${dockerHost === undefined ? "" : dockerPlugin(dockerHost)}`;
}

/** Images are never removed, because none can be pulled. */
function dockerPlugin(endpoint: string): string {
  return `
plugin "docker" {
  config {
    endpoint = "${endpoint}"
    infra_image = "registry.k8s.io/pause:3.10"
    gc { image = false }
  }
}
`;
}

/** @param dockerHost - engine of the docker driver; default: the machine's engine, if there is one */
async function startAgent(dockerHost?: string): Promise<AsyncDisposable & { readonly address: string }> {
  if (spawnSync("nomad", ["version"]).status !== 0) {
    console.error("no agent: set NOMAD_ADDR (and NOMAD_TOKEN) to one with the raw_exec driver, or put nomad on the PATH");
    process.exit(2);
  }
  const folder = mkdtempSync(join(tmpdir(), "vk-nomad-agent-"));
  const [http, rpc, serf] = [await freePort(), await freePort(), await freePort()];
  writeFileSync(join(folder, "agent.hcl"), agentConfig([http, rpc, serf], folder, dockerHost));
  // This variable would make the agent look for a certificate that does not exist.
  const { AWS_CA_BUNDLE: _, ...env } = process.env;
  const reaper = startReaper();
  const agent = await startProcess(
    {
      name: "nomad",
      program: "nomad",
      args: ["agent", "-dev", "-bind", "127.0.0.1", "-config", join(folder, "agent.hcl")],
      environment: env,
      logFile: join(folder, "agent.log"),
    },
    { reaper, clock: systemClock },
  );
  const address = `http://127.0.0.1:${http}`;
  await untilReady(address);
  return {
    address,
    async [Symbol.asyncDispose]() {
      // A development agent stops its tasks first.
      await agent.stop(stopTimeoutMs);
      reaper[Symbol.dispose]();
      unmountBelow(folder);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Unmounts the secrets folders of tasks, which an agent that runs as root leaves mounted. */
function unmountBelow(folder: string): void {
  const mounts = existsSync("/proc/self/mounts") ? readFileSync("/proc/self/mounts", "utf8").split("\n") : [];
  const points = mounts.map((line) => line.split(" ")[1] ?? "").filter((point) => point.startsWith(`${folder}/`));
  if (points.length > 0) spawnSync("umount", points.toReversed(), { stdio: "inherit" });
}

/** Waits until the agent has a leader and its client accepts jobs. */
async function untilReady(address: string): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  for (;;) {
    const nodes = await fetch(`${address}/v1/nodes`)
      .then(async (answer) => (await answer.json()) as readonly { readonly Status: string }[])
      .catch(() => []);
    if (nodes.some(({ Status }) => Status === "ready")) return;
    if (Date.now() > deadline) throw new Error(`the agent at ${address} was not ready within ${startTimeoutMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function vitest(
  project: string,
  files: readonly string[],
  address: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<number> {
  const child = spawn("vitest", ["run", "--project", project, ...files], {
    stdio: "inherit",
    env: { ...process.env, ...environment, E2E_NOMAD: "real", NOMAD_ADDR: address },
  });
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
}

/** Runs the tests on an agent whose tasks are processes of the machine, unless the environment sets another driver. */
async function runHere(address: string): Promise<readonly number[]> {
  const contract = ["contract", "exec", "interpolation", "volumes"].map((name) => `e2e/nomad/${name}.test.ts`);
  return [
    await vitest("embedded", contract, address),
    await vitest("kubectl", ["e2e/kubectl/nomad.test.ts"], address),
    await vitest("conformance", ["e2e/conformance/nomad.test.ts"], address),
  ];
}

/** Runs the tests on an agent with a Docker engine, in private namespaces. */
async function runOnDocker(): Promise<readonly number[]> {
  const named = process.env["VK_TEST_DOCKER_HOST"];
  await using own = named === undefined ? await PrivateEngine.start() : undefined;
  const engine = own?.api ?? new EngineApi(named ?? "");
  await using _images = await importImages(engine);
  await using agent = await startAgent(engine.host);
  const environment = { E2E_NOMAD_DRIVER: "docker", E2E_NOMAD_NETWORK: "host", E2E_NOMAD_IMAGE: "busybox:1.37" };
  return [
    await vitest("embedded", ["e2e/nomad/interpolation.test.ts", "e2e/nomad/volumes.test.ts"], agent.address, environment),
    await vitest("conformance", ["e2e/conformance/nomad.test.ts"], agent.address, environment),
  ];
}

/** Runs this program again in the environment of an engine. */
async function inSurroundings(): Promise<readonly number[]> {
  const why = missingDocker();
  if (why !== undefined) {
    console.error(`not run on the docker driver: ${why}`);
    return process.env["REQUIRE_ALL"] === "1" ? [1] : [];
  }
  const [program, ...args] = inDockerSurroundings([process.execPath, ...process.execArgv, import.meta.filename, "docker"]);
  const [code] = (await once(spawn(program, args, { stdio: "inherit" }), "exit")) as [number | null];
  return [code ?? 1];
}

async function runAll(): Promise<readonly number[]> {
  const given = process.env["NOMAD_ADDR"];
  if (given !== undefined) return runHere(given);
  const codes = await (async () => {
    await using agent = await startAgent();
    // Without `await` the agent would be disposed before the tests end.
    return await runHere(agent.address);
  })();
  return [...codes, ...(await inSurroundings())];
}

const codes = process.argv[2] === "docker" ? await runOnDocker() : await runAll();
process.exitCode = codes.find((code) => code !== 0) ?? 0;
