/**
 * Compares a pod of a node on Nomad with the same job registered through Nomad's API, in alternating rounds.
 *
 * Usage, without the other benchmarks: nomad.ts [--rounds 15] [--no-guide]; NOMAD_ADDR and NOMAD_TOKEN name the agent, which must have the
 * raw_exec driver enabled.
 */
import { circumstances } from "./circumstances.ts";
import { startEmbedded } from "./embedded-process.ts";
import type { NomadReport } from "./figures.ts";
import { writeNomad } from "./guide.ts";
import { median } from "./median.ts";
import { startNode } from "./node-program.ts";
import { podRunner, timed, type Runner } from "./pod-runner.ts";
import { runBenchmark } from "./run-benchmark.ts";

const command = ["sleep", "1000000"];

/** Pause because an agent works for a while on jobs that were removed. */
const settleMs = 2_000;

/** A job as Nomad returns it. */
type Job = Readonly<Record<string, unknown>>;

/** Client of Nomad's API. */
class Agent {
  readonly #address: string;
  readonly #token: string | undefined;

  constructor(address: string, token: string | undefined) {
    this.#address = address;
    this.#token = token;
  }

  /** @returns the response, and its index for the next blocking query. @throws Error with Nomad's message */
  async ask(method: string, path: string, body?: object): Promise<{ readonly json: unknown; readonly index: string }> {
    const response = await fetch(`${this.#address}/v1${path}`, {
      method,
      ...(this.#token !== undefined && { headers: { "x-nomad-token": this.#token } }),
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return { json: JSON.parse(text) as unknown, index: response.headers.get("x-nomad-index") ?? "0" };
  }

  /** Registers a job and waits until its allocation is running. */
  async run(job: Job): Promise<void> {
    await this.ask("PUT", "/jobs", { Job: job });
    let from = "0";
    for (;;) {
      const { json, index } = await this.ask("GET", `/job/${String(job["ID"])}/allocations?index=${from}&wait=60s`);
      const [allocation] = json as { ClientStatus: string }[];
      if (allocation?.ClientStatus === "running") return;
      if (allocation && allocation.ClientStatus !== "pending")
        throw new Error(`the job's allocation is ${allocation.ClientStatus}; expected running`);
      from = index;
    }
  }
}

/** The job that the node registered for the only pod, without the fields that Nomad added. */
async function jobOfPod(agent: Agent): Promise<Job> {
  const { json } = await agent.ask("GET", "/jobs?prefix=vk-");
  const living = (json as { ID: string; Status: string }[]).find(({ Status }) => Status === "running");
  if (!living) throw new Error("find the pod's job: no running job has an ID that begins with vk-");
  const { json: job } = await agent.ask("GET", `/job/${living.ID}`);
  const { ID, Name, Datacenters, Type, TaskGroups, Constraints, NodePool, Namespace } = job as Job;
  return { ID, Name, Datacenters, Type, TaskGroups, Constraints, NodePool, Namespace };
}

function jobRunner(agent: Agent, job: Job): Runner {
  return async (_count, round) => {
    const ID = `bench-${round}`;
    await agent.run({ ...job, ID, Name: ID });
    return async () => {
      await agent.ask("DELETE", `/job/${ID}?purge=true`);
    };
  };
}

/** Measures both sides; takes several minutes. */
export async function measureNomad(address: string, token: string | undefined, rounds: number): Promise<NomadReport> {
  const agent = new Agent(address, token);
  const { json: self } = await agent.ask("GET", "/agent/self");
  await using api = await startEmbedded();
  const config = {
    address,
    ...(token !== undefined && { token }),
    driver: "raw_exec",
    defaultCpu: "10m",
    defaultMemory: "32Mi",
    purgeAfter: "0s",
  };
  await using _node = await startNode(api, "nomad", config);
  const ours = podRunner(api, { node: "nomad", image: "none", command });
  const removeFirst = await ours(1, "first");
  const plain = jobRunner(agent, await jobOfPod(agent));
  await removeFirst();
  const times = { ours: [] as number[], plain: [] as number[] };
  for (let round = 0; round <= rounds; round++) {
    const measure = {
      ours: async () => times.ours.push(await timed(ours, 1, `round-${round}`, settleMs)),
      plain: async () => times.plain.push(await timed(plain, 1, `round-${round}`, settleMs)),
    };
    for (const side of round % 2 === 0 ? (["ours", "plain"] as const) : (["plain", "ours"] as const)) await measure[side]();
    process.stderr.write(`round ${round}: pod ${times.ours.at(-1)?.toFixed(0)} ms, job ${times.plain.at(-1)?.toFixed(0)} ms\n`);
  }
  return {
    circumstances: circumstances(),
    version: (self as { config: { Version: { Version: string } } }).config.Version.Version,
    rounds,
    // The first round is a warm-up.
    nodeMs: median(times.ours.slice(1)),
    plainMs: median(times.plain.slice(1)),
  };
}

if (import.meta.main) {
  const { NOMAD_ADDR: address = "http://127.0.0.1:4646", NOMAD_TOKEN: token } = process.env;
  await runBenchmark({ rounds: 15 }, ({ rounds }) => measureNomad(address, token, rounds), writeNomad);
}
