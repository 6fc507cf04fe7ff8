import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { constants } from "node:os";
import { json } from "node:stream/consumers";
import type { Job, JobSpec } from "../src/jobs-api.ts";

/** Faults that tests inject. */
export type Fault =
  /** Every connection is closed. */
  | "away"
  /** A region does not answer: lists lack their first job, and say so. */
  | "partial"
  /** Creates take effect, but their responses are lost. */
  | "lost-answer"
  /** Creates take effect, but are never answered. */
  | "no-answer"
  /** Lists contain a malformed entry. */
  | "garbled"
  /** A proxy before the API has lost it, and answers by itself. */
  | "proxy";

interface Entry {
  job: Job;
  readonly name: string;
  readonly process: ChildProcess;
  readonly output: Buffer[];
  isStopped: boolean;
  timer?: NodeJS.Timeout | undefined;
}

/** Jobs on a page of a list: few, so that tests cover several pages. */
const pageSize = 3;

/** Stand-in for the remote API: an HTTP server on loopback that runs each job as a process. It outlives the provider, as an API does. */
export class FakeApi implements AsyncDisposable {
  readonly faults: Set<Fault> = new Set();
  readonly #server: Server;
  readonly #jobs = new Map<string, Entry>();
  #count = 0;

  private constructor() {
    this.#server = createServer((request, response) => {
      // Leaves no idle connection open between tests.
      response.setHeader("connection", "close");
      void this.#answer(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
    });
  }

  /** @param port - default: any free port */
  static async start(port = 0): Promise<FakeApi> {
    const fake = new FakeApi();
    fake.#server.listen(port, "127.0.0.1");
    await once(fake.#server, "listening");
    return fake;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Names of all jobs. */
  names(): string[] {
    return Array.from(this.#jobs.values(), ({ name }) => name);
  }

  /** Removes a job, as if its host had died. */
  async lose(name: string): Promise<void> {
    const found = [...this.#jobs].find(([, entry]) => entry.name === name);
    if (!found) return;
    this.#jobs.delete(found[0]);
    kill(found[1], "SIGKILL");
    if (found[1].job.ended === undefined) await once(found[1].process, "close");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.names().map((name) => this.lose(name)));
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.faults.has("away")) return void request.socket.destroy();
    if (this.faults.has("proxy")) return void response.writeHead(404, { "content-type": "text/html" }).end("<h1>404 Not Found</h1>");
    const { pathname, searchParams } = new URL(request.url ?? "/", this.address);
    const [, root, id = "", part] = pathname.split("/");
    const reply = (status: number, body?: object): void => void response.writeHead(status).end(body && JSON.stringify(body));
    if (root === "health") return reply(200);
    if (id === "" && request.method === "POST") {
      const job = this.#create((await json(request)) as JobSpec);
      if (this.faults.has("lost-answer")) return void request.socket.destroy();
      return this.faults.has("no-answer") ? undefined : reply(job ? 201 : 409, job);
    }
    if (id === "") return reply(200, this.#page(searchParams));
    const entry = this.#jobs.get(id);
    if (!entry) return reply(404, { error: "no such job" });
    if (part === "output") return void response.end(Buffer.concat(entry.output).subarray(Number(searchParams.get("from"))));
    if (request.method === "GET") return reply(200, entry.job);
    this.#stop(entry, Number(searchParams.get("graceSeconds")));
    return reply(202);
  }

  /** @returns `undefined` if a job of that name exists */
  #create({ name, image, command, env, tags }: JobSpec): Job | undefined {
    if (this.names().includes(name)) return undefined;
    const [program = "", ...args] = command;
    const process = spawn(program, args, { env: { PATH: "/usr/local/bin:/usr/bin:/bin", ...env }, detached: true });
    const job: Job = { id: `job-${++this.#count}`, image, tags, createdAt: now(), startedAt: now(), address: "192.0.2.7" };
    const entry: Entry = { job, name, process, output: [], isStopped: false };
    this.#jobs.set(job.id, entry);
    const end = (exitCode: number): void => {
      entry.job = { ...job, ended: { exitCode, finishedAt: now() } };
      clearTimeout(entry.timer);
      if (entry.isStopped) this.#jobs.delete(job.id);
    };
    process.stdin.end();
    for (const stream of [process.stdout, process.stderr]) stream.on("data", (chunk: Buffer) => entry.output.push(chunk));
    process.once("error", () => end(127));
    process.once("exit", () => kill(entry, "SIGKILL"));
    process.once("close", (code, signal) => end(code ?? 128 + (signal ? constants.signals[signal] : 0)));
    return job;
  }

  #stop(entry: Entry, graceSeconds: number): void {
    entry.isStopped = true;
    if (entry.job.ended) return void this.#jobs.delete(entry.job.id);
    kill(entry, "SIGTERM");
    clearTimeout(entry.timer);
    if (graceSeconds <= 0) kill(entry, "SIGKILL");
    else entry.timer = setTimeout(() => kill(entry, "SIGKILL"), graceSeconds * 1000);
  }

  #page(query: URLSearchParams): object {
    const wanted = query.getAll("tag").map((tag) => tag.split("="));
    const matching = Array.from(this.#jobs.values(), ({ job }) => job).filter(({ tags }) =>
      wanted.every(([key = "", value]) => tags[key] === value),
    );
    const isPartial = this.faults.has("partial");
    const seen = isPartial ? matching.slice(1) : matching;
    const from = Number(query.get("page"));
    const next = from + pageSize < seen.length ? String(from + pageSize) : undefined;
    const jobs = [...seen.slice(from, from + pageSize), ...(this.faults.has("garbled") ? [{ id: 7 }] : [])];
    return { jobs, unreachable: isPartial ? ["far"] : [], next };
  }
}

function now(): string {
  return new Date(Date.now()).toISOString();
}

/** Signals a job's process and all processes it has started. */
function kill({ process: child }: Entry, signal: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  } catch {
    // It has already ended.
  }
}
