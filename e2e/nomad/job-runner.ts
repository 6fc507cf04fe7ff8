import type { Container, Pod } from "@virtual-kubelet/core";
import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { NomadClient } from "../../providers/nomad/src/api/nomad-client.ts";
import type { NomadHttp } from "../../providers/nomad/src/api/nomad-http.ts";
import { ObjectReader } from "../../providers/nomad/src/api/object-reader.ts";
import type { Allocation, NomadJob } from "../../providers/nomad/src/api/types.ts";
import type { JobPlan } from "../../providers/nomad/src/job/job-of.ts";
import { planOf } from "../../providers/nomad/src/test-support/pods.ts";
import { httpTo, openNomad, type NomadBackend } from "./backend.ts";

const { signal } = new AbortController();
const soon = { timeoutMs: 60_000, intervalMs: 50 };

/** Input of {@link planned}. */
export interface PlannedInput {
  /** Configuration of the provider, in addition to small resources. */
  readonly config?: object;
  /** Values that override the container's variables, by name. */
  readonly env?: Readonly<Record<string, string>>;
  /** Files of the pod's volumes: text by volume and path. */
  readonly files?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly volumes?: NonNullable<NonNullable<Pod["spec"]>["volumes"]>;
}

/** The provider's plan for a pod with one container, `main`, that runs a script; the container's own command words become its arguments. */
export function planned(
  script: string,
  fields: Partial<Container>,
  { config = {}, env = {}, files = {}, volumes = [] }: PlannedInput = {},
): JobPlan {
  const container = { name: "main", command: ["sh", "-c", script, ...(fields.command ?? [])] };
  const pod: Pod = {
    metadata: { namespace: "shop", name: "web", uid: randomUUID() },
    spec: { restartPolicy: "Never", containers: [{ ...fields, ...container }], volumes },
  };
  return planOf(pod, { driver: "raw_exec", defaultCpu: "10m", defaultMemory: "32Mi", ...config }, { env, files });
}

/** Runs jobs without a running provider, and purges them. */
export class JobRunner implements AsyncDisposable {
  readonly nomad: NomadBackend;
  readonly client: NomadClient;
  readonly #http: NomadHttp;
  readonly #ends: (() => Promise<void>)[] = [];

  private constructor(nomad: NomadBackend) {
    this.nomad = nomad;
    this.#http = httpTo(nomad);
    this.client = new NomadClient(this.#http, new ObjectReader({ logger: silentLogger, metrics: noMetrics }), "default");
  }

  static async open(): Promise<JobRunner> {
    return new JobRunner(await openNomad());
  }

  /** Network for tests with a real agent's docker driver; empty otherwise. */
  get dockerNetworks(): readonly string[] {
    return this.nomad.kind === "real" && this.nomad.driver === "docker" ? [this.nomad.network] : [];
  }

  /** Runs a job and waits for its end. */
  async run({ job, variables = [] }: { readonly job: NomadJob; readonly variables?: JobPlan["variables"] }): Promise<Allocation> {
    for (const variable of variables) {
      await this.client.writeVariable(variable, signal);
      this.#ends.push(() => this.client.deleteVariable(variable.Path, signal));
    }
    this.#ends.push(() => this.client.stopJob(job.ID, { purge: true }, signal));
    await this.client.registerJob(job, 0, signal);
    return eventually(async () => {
      const [allocation] = await this.client.jobAllocations(job.ID, signal);
      expect(allocation?.ClientStatus).toMatch(/^(complete|failed)$/);
      return allocation as Allocation;
    }, soon);
  }

  /** Runs a job until it completes. @returns the lines that its task wrote */
  async linesOf(plan: Parameters<JobRunner["run"]>[0]): Promise<readonly string[]> {
    const { ID, ClientStatus, TaskStates } = await this.run(plan);
    expect(ClientStatus, JSON.stringify(TaskStates)).toBe("complete");
    // The agent stores the last lines a moment after the task has ended.
    let text: string | undefined;
    await eventually(
      async () => {
        const before = text;
        text = await this.#stdoutOf(ID);
        expect(text).toBe(before);
      },
      { ...soon, intervalMs: 300 },
    );
    return (text ?? "").split("\n").slice(0, -1);
  }

  async #stdoutOf(allocation: string): Promise<string> {
    const chunks: Uint8Array[] = [];
    const request = { task: "main", tenant: "default", type: "stdout", offset: 0 } as const;
    for await (const chunk of await this.client.log(allocation, request, signal)) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  }

  /** Purges all jobs that were run. */
  async clear(): Promise<void> {
    for (const end of this.#ends.splice(0).toReversed()) await end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.clear();
    await this.#http[Symbol.asyncDispose]();
    await this.nomad[Symbol.asyncDispose]();
  }
}
