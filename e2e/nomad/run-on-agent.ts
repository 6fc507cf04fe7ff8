import { systemClock } from "@virtual-kubelet/clock";
import { freePort, startProcess, startReaper } from "@virtual-kubelet/testing";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Runs the contract tests, commands, the walk with kubectl and the conformance suite on a real agent: the one that NOMAD_ADDR names, whose
// raw_exec driver has to be on, or one that `nomad` on the PATH starts.

const startTimeoutMs = 60_000;
const stopTimeoutMs = 60_000;

/** What an agent for tests needs: the machine's own processes, and nothing of a cloud. */
function agentConfig(ports: readonly [http: number, rpc: number, serf: number], folder: string): string {
  const [http, rpc, serf] = ports;
  return `
data_dir = "${join(folder, "data")}"
disable_update_check = true
ports { http = ${http} rpc = ${rpc} serf = ${serf} }
client { options = { "fingerprint.denylist" = "env_aws,env_gce,env_azure,env_digitalocean" } }
plugin "raw_exec" { config { enabled = true } }
`;
}

async function startAgent(): Promise<AsyncDisposable & { readonly address: string }> {
  if (spawnSync("nomad", ["version"]).status !== 0) {
    console.error("no agent: set NOMAD_ADDR (and NOMAD_TOKEN) to one with the raw_exec driver, or put nomad on the PATH");
    process.exit(2);
  }
  const folder = mkdtempSync(join(tmpdir(), "vk-nomad-agent-"));
  const [http, rpc, serf] = [await freePort(), await freePort(), await freePort()];
  writeFileSync(join(folder, "agent.hcl"), agentConfig([http, rpc, serf], folder));
  // With this in its environment the agent looks for a certificate that is not there.
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
      // An agent for development ends its tasks first.
      await agent.stop(stopTimeoutMs);
      reaper[Symbol.dispose]();
      unmountBelow(folder);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** An agent that runs as root leaves the folders of its tasks' secrets mounted. */
function unmountBelow(folder: string): void {
  const mounts = existsSync("/proc/self/mounts") ? readFileSync("/proc/self/mounts", "utf8").split("\n") : [];
  const points = mounts.map((line) => line.split(" ")[1] ?? "").filter((point) => point.startsWith(`${folder}/`));
  if (points.length > 0) spawnSync("umount", points.toReversed(), { stdio: "inherit" });
}

/** The agent has a leader, and its client takes jobs. */
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

async function vitest(project: string, files: readonly string[], address: string): Promise<number> {
  const child = spawn("vitest", ["run", "--project", project, ...files], {
    stdio: "inherit",
    env: { ...process.env, E2E_NOMAD: "real", NOMAD_ADDR: address },
  });
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
}

const given = process.env["NOMAD_ADDR"];
await using agent = given === undefined ? await startAgent() : undefined;
const address = given ?? agent?.address ?? "";
const codes = [
  await vitest("embedded", ["e2e/nomad/contract.test.ts", "e2e/nomad/exec.test.ts", "e2e/nomad/interpolation.test.ts"], address),
];
codes.push(await vitest("kubectl", ["e2e/kubectl/nomad.test.ts"], address));
codes.push(await vitest("conformance", ["e2e/conformance/nomad.test.ts"], address));
process.exitCode = codes.find((code) => code !== 0) ?? 0;
