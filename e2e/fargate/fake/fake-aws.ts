import type { Clock, Random } from "@virtual-kubelet/clock";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { ContainerHost, ContainerRun } from "../../support/container-host/container-host.ts";
import { FakeApi, type ApiAnswer } from "./api/fake-api.ts";
import { FakeCredentials, type FakeKeys } from "./api/credentials.ts";
import { Faults } from "./api/faults.ts";
import { RequestRates, type RequestRate } from "./api/request-rates.ts";
import { Clusters } from "./ecs/clusters.ts";
import { FakeEcs } from "./ecs/fake-ecs.ts";
import { TaskDefinitions } from "./ecs/task-definitions.ts";
import { Tasks } from "./ecs/tasks.ts";
import { SessionServer, type OpenedSession } from "./exec/session-server.ts";
import { FakeLogs } from "./logs/fake-logs.ts";
import type { TaskSurroundings } from "./tasks/task-runner.ts";
import { usualTimings, type TaskTimings } from "./tasks/task-timings.ts";

/** What a {@link FakeAws} is made of. */
export interface FakeAwsOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Runs the containers; it is disposed with the fake. */
  readonly host: ContainerHost;
  /** Default: {@link usualTimings}. */
  readonly timings?: TaskTimings;
  /** Default: none. */
  readonly rates?: Readonly<Record<string, RequestRate>>;
  /** Milliseconds until a line of output can be read. Default: 2000. */
  readonly ingestionMs?: number;
  /** Default: `default`, with Fargate and Fargate Spot. */
  readonly clusters?: readonly string[];
}

/** Keys that the fake accepts from the beginning. */
export const firstKeys: FakeKeys = { accessKeyId: "AKIAFAKE000000000001", secretAccessKey: "first-secret-key" };

/**
 * Fake of Amazon ECS on Fargate and of CloudWatch Logs, as an HTTP server on a loopback port. It is a state machine on the given clock,
 * it refuses what AWS's published models refuse, and it checks signatures. What it knows of AWS is from AWS's models and documentation;
 * no account was asked.
 */
export class FakeAws implements AsyncDisposable {
  readonly credentials: FakeCredentials = new FakeCredentials();
  readonly faults: Faults = new Faults();
  readonly rates: RequestRates;
  readonly logs: FakeLogs;
  readonly clusters: Clusters = new Clusters();
  readonly definitions: TaskDefinitions;
  readonly tasks: Tasks;
  /** Sessions of ExecuteCommand. */
  readonly sessions: SessionServer;
  readonly api: FakeApi;
  /** Values of secrets and parameters, by ARN. */
  readonly secrets: Map<string, string> = new Map();
  readonly #server: Server;
  readonly #host: ContainerHost;
  readonly #around: { -readonly [Key in keyof TaskSurroundings]: TaskSurroundings[Key] };

  private constructor(options: FakeAwsOptions) {
    const { clock, random, host, rates = {}, ingestionMs = 2000, clusters = ["default"] } = options;
    this.#host = host;
    this.rates = new RequestRates(clock, rates);
    this.logs = new FakeLogs(clock, ingestionMs);
    this.definitions = new TaskDefinitions(clock);
    this.#around = { clock, host, logs: this.logs, secrets: this.secrets, timings: options.timings ?? usualTimings };
    this.tasks = new Tasks(this.clusters, this.definitions, this.#around, random);
    for (const clusterName of clusters) this.clusters.create({ clusterName, capacityProviders: ["FARGATE", "FARGATE_SPOT"] });
    this.credentials.accept(firstKeys);
    this.sessions = new SessionServer({ clock, random });
    const openSession = (run: ContainerRun, command: string): OpenedSession =>
      this.sessions.create(run, command, this.endpoint.replace(/^http/, "ws"));
    const ecs = new FakeEcs(this.clusters, this.definitions, this.tasks, openSession);
    const { credentials, faults, logs } = this;
    this.api = new FakeApi({ credentials, faults, rates: this.rates, ecs, logs });
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.sessions.serve(this.#server);
  }

  /** Starts the fake on a free loopback port. */
  static async start(options: FakeAwsOptions): Promise<FakeAws> {
    const fake = new FakeAws(options);
    await new Promise<void>((resolve) => fake.#server.listen(0, "127.0.0.1", resolve));
    return fake;
  }

  /** URL of both services. */
  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Durations of the next steps of all tasks. */
  set timings(timings: TaskTimings) {
    this.#around.timings = timings;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sessions[Symbol.asyncDispose]();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
    await this.#host[Symbol.asyncDispose]();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request).catch(() => undefined);
    if (body === undefined) return;
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const answer = await this.api.answer({ method: request.method ?? "GET", path: request.url ?? "/", headers, body });
    if (answer.kind === "hang") return;
    const { clock } = this.credentials;
    if (clock) response.setHeader("date", new Date(clock.now()).toUTCString());
    if (answer.kind === "lost") request.socket.destroy();
    else send(response, answer);
  }
}

function send(response: ServerResponse, { status, headers, body }: Extract<ApiAnswer, { readonly kind: "answer" }>): void {
  response.writeHead(status, headers);
  response.end(body);
}
