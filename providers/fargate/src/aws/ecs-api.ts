import {
  ConflictException,
  DeleteTaskDefinitionsCommand,
  DeregisterTaskDefinitionCommand,
  DescribeClustersCommand,
  DescribeTaskDefinitionCommand,
  DescribeTasksCommand,
  ExecuteCommandCommand,
  ListTaskDefinitionFamiliesCommand,
  ListTaskDefinitionsCommand,
  ListTasksCommand,
  RegisterTaskDefinitionCommand,
  RunTaskCommand,
  StopTaskCommand,
  type ECSClient,
  type RegisterTaskDefinitionCommandInput,
  type RunTaskCommandInput,
} from "@aws-sdk/client-ecs";
import { InvalidInputError, isNotFound, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import type { BudgetedCall } from "@virtual-kubelet/remote-pods";
import type { z } from "zod";
import { failureError } from "./api-error.ts";
import type { CredentialRenewal } from "./credential-renewal.ts";
import type { EcsTask, ExecSession } from "./ecs-objects.ts";
import { failureSchema, pageSchema, sessionSchema, taskSchema } from "./ecs-schemas.ts";
import { send, type Budget } from "./send.ts";

const pageSize = 100;
/** Maximum of task definitions in one DeleteTaskDefinitions. */
export const deleteBatch = 10;

export interface EcsApiOptions {
  readonly client: Pick<ECSClient, "send">;
  readonly cluster: string;
  readonly budget: Budget;
  /** Absent: requests with expired credentials are not sent again. */
  readonly renewal?: CredentialRenewal | undefined;
  /** Called with a task that cannot be read, and the problem; with `undefined` when it can be read. */
  readonly onTask?: ((id: string, problem: string | undefined) => void) | undefined;
}

/** A call of the ECS API. */
type EcsCall = Pick<BudgetedCall, "class" | "operation" | "priority" | "waitsForPause"> & {
  readonly attempted: string;
  readonly isIdempotent?: boolean;
  readonly secrets?: readonly string[];
};

/** A task definition with the tags that say whose it is. */
export interface DefinitionRecord {
  readonly arn: string;
  readonly status: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** The calls of the ECS API that the provider makes. All reject with errdefs errors, and with `signal.reason` when aborted. */
export class EcsApi {
  readonly #options: EcsApiOptions;

  constructor(options: EcsApiOptions) {
    this.#options = options;
  }

  /**
   * Starts a task.
   *
   * @returns the task; only its ARN if AWS answers that another request with the same token has started it
   * @throws QuotaExceededError also for a failure that AWS reports in a successful answer; UnavailableError if the answer has neither a task nor a failure
   */
  async runTask(
    input: RunTaskCommandInput,
    pod: string,
    signal: AbortSignal,
  ): Promise<{ readonly id: string; readonly task?: EcsTask | undefined }> {
    const attempted = `run the task of pod ${pod}`;
    const answer = await this.#call(
      { class: "launch", operation: "RunTask", attempted, secrets: secretsOf(input) },
      async (abortSignal) => {
        try {
          return await this.#options.client.send(new RunTaskCommand(input), { abortSignal });
        } catch (error) {
          const [arn] = error instanceof ConflictException ? (error.resourceIds ?? []) : [];
          if (arn !== undefined) return { tasks: [], failures: [], arn };
          throw error;
        }
      },
      signal,
    );
    if ("arn" in answer) return { id: answer.arn };
    const [first] = answer.tasks ?? [];
    if (first?.taskArn !== undefined) return { id: first.taskArn, task: taskSchema.safeParse(first).data };
    const { reason, detail } = failureSchema.safeParse(answer.failures?.[0]).data ?? {};
    if (reason === undefined) throw new UnavailableError(`${attempted}: ECS answered with neither a task nor a failure`);
    throw failureError(reason, detail, attempted);
  }

  /** Describes up to 100 tasks. A task that cannot be read is in neither list. */
  async describeTasks(
    ids: readonly string[],
    signal: AbortSignal,
  ): Promise<{ readonly found: readonly EcsTask[]; readonly missing: readonly string[] }> {
    const { client, cluster, onTask } = this.#options;
    const { tasks = [], failures = [] } = await this.#call(
      { class: "read", operation: "DescribeTasks", attempted: "describe tasks" },
      (abortSignal) => client.send(new DescribeTasksCommand({ cluster, tasks: [...ids], include: ["TAGS"] }), { abortSignal }),
      signal,
    );
    const found: EcsTask[] = [];
    for (const each of tasks) {
      const parsed = taskSchema.safeParse(each);
      onTask?.(each.taskArn ?? "without an ARN", parsed.success ? undefined : problemOf(parsed.error));
      if (parsed.success) found.push(parsed.data);
    }
    const missing = failures.flatMap(({ arn, reason }) => (reason === "MISSING" && arn !== undefined ? [arn] : []));
    return { found, missing: ids.filter((id) => missing.includes(id)) };
  }

  /**
   * Lists the ARNs of tasks. ECS does not combine `startedBy` with another filter, so that stopped tasks of the whole cluster are listed.
   * Source: ECS API reference, ListTasks.
   */
  async listTasks(
    filter: { readonly startedBy: string } | { readonly desiredStatus: "STOPPED" },
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { client, cluster } = this.#options;
    const attempted = "list tasks";
    return this.#pages(attempted, async (nextToken) => {
      const answer = await this.#call(
        { class: "read", operation: "ListTasks", attempted },
        (abortSignal) => client.send(new ListTasksCommand({ cluster, ...filter, maxResults: pageSize, nextToken }), { abortSignal }),
        signal,
      );
      return { entries: answer.taskArns, nextToken: answer.nextToken };
    });
  }

  /** Stops a task: SIGTERM, and SIGKILL after each container's stop time. @throws NotFoundError if there is no such task */
  async stopTask(id: string, reason: string, signal: AbortSignal): Promise<void> {
    const { client, cluster } = this.#options;
    await this.#call(
      { class: "stop", operation: "StopTask", attempted: `stop task ${id}` },
      (abortSignal) => client.send(new StopTaskCommand({ cluster, task: id, reason: reason.slice(0, 1024) }), { abortSignal }),
      signal,
    );
  }

  /** Starts a command in a container. @returns the address of its streams */
  async executeCommand(id: string, container: string, command: string, signal: AbortSignal): Promise<ExecSession> {
    const { client, cluster } = this.#options;
    const { session } = await this.#call(
      { class: "exec", operation: "ExecuteCommand", attempted: `run a command in container ${container}`, isIdempotent: false },
      (abortSignal) =>
        client.send(new ExecuteCommandCommand({ cluster, task: id, container, command, interactive: true }), { abortSignal }),
      signal,
    );
    const parsed = sessionSchema.safeParse(session);
    if (!parsed.success)
      throw new UnavailableError(`run a command in container ${container}: ECS does not tell the address of its streams`);
    return parsed.data;
  }

  /** Registers a task definition. @returns its ARN */
  async registerTaskDefinition(input: RegisterTaskDefinitionCommandInput, signal: AbortSignal): Promise<string> {
    const { client } = this.#options;
    const attempted = `register task definition ${input.family}`;
    const { taskDefinition } = await this.#call(
      { class: "define", operation: "RegisterTaskDefinition", attempted: attempted, isIdempotent: false },
      (abortSignal) => client.send(new RegisterTaskDefinitionCommand(input), { abortSignal }),
      signal,
    );
    if (!taskDefinition?.taskDefinitionArn) throw new UnavailableError(`${attempted}: ECS answered without its ARN`);
    return taskDefinition.taskDefinitionArn;
  }

  /** Describes the newest active revision of a family, or a revision by ARN; `undefined` if there is none. */
  async describeTaskDefinition(family: string, signal: AbortSignal): Promise<DefinitionRecord | undefined> {
    const { client } = this.#options;
    try {
      const { taskDefinition, tags = [] } = await this.#call(
        { class: "read", operation: "DescribeTaskDefinition", attempted: `describe task definition ${family}` },
        (abortSignal) => client.send(new DescribeTaskDefinitionCommand({ taskDefinition: family, include: ["TAGS"] }), { abortSignal }),
        signal,
      );
      if (!taskDefinition?.taskDefinitionArn) return undefined;
      return {
        arn: taskDefinition.taskDefinitionArn,
        status: taskDefinition.status ?? "",
        tags: Object.fromEntries(tags.flatMap(({ key, value = "" }): [string, string][] => (key === undefined ? [] : [[key, value]]))),
      };
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Lists families by the beginning of their names; INACTIVE ones have no active revision. */
  async listFamilies(familyPrefix: string, status: "ACTIVE" | "INACTIVE", signal: AbortSignal): Promise<readonly string[]> {
    const { client } = this.#options;
    const attempted = "list families of task definitions";
    return this.#pages(attempted, async (nextToken) => {
      const answer = await this.#call(
        { class: "read", operation: "ListTaskDefinitionFamilies", attempted },
        (abortSignal) =>
          client.send(new ListTaskDefinitionFamiliesCommand({ familyPrefix, status, maxResults: pageSize, nextToken }), { abortSignal }),
        signal,
      );
      return { entries: answer.families, nextToken: answer.nextToken };
    });
  }

  /** Lists the ARNs of a family's revisions. */
  async listRevisions(family: string, status: "ACTIVE" | "INACTIVE", signal: AbortSignal): Promise<readonly string[]> {
    const { client } = this.#options;
    const attempted = "list task definitions";
    return this.#pages(attempted, async (nextToken) => {
      const answer = await this.#call(
        { class: "read", operation: "ListTaskDefinitions", attempted },
        (abortSignal) =>
          client.send(new ListTaskDefinitionsCommand({ familyPrefix: family, status, maxResults: pageSize, nextToken }), { abortSignal }),
        signal,
      );
      return { entries: answer.taskDefinitionArns, nextToken: answer.nextToken };
    });
  }

  /** Makes a task definition INACTIVE: no task can be started with it any more. */
  async deregisterTaskDefinition(arn: string, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    await this.#call(
      { class: "define", operation: "DeregisterTaskDefinition", attempted: `deregister task definition ${arn}` },
      (abortSignal) => client.send(new DeregisterTaskDefinitionCommand({ taskDefinition: arn }), { abortSignal }),
      signal,
    );
  }

  /** Deletes up to 10 INACTIVE task definitions. */
  async deleteTaskDefinitions(arns: readonly string[], signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const attempted = "delete task definitions";
    const { failures = [] } = await this.#call(
      { class: "define", operation: "DeleteTaskDefinitions", attempted: attempted },
      (abortSignal) => client.send(new DeleteTaskDefinitionsCommand({ taskDefinitions: [...arns] }), { abortSignal }),
      signal,
    );
    const [failure] = failures;
    if (failure) throw failureError(failure.reason ?? "unknown reason", failure.detail, `${attempted} ${failure.arn ?? ""}`);
  }

  /** Checks that the cluster exists and is active. @throws NotFoundError, InvalidInputError */
  async checkCluster(signal: AbortSignal): Promise<void> {
    const { client, cluster } = this.#options;
    const { clusters = [] } = await this.#call(
      {
        class: "read",
        operation: "DescribeClusters",
        priority: "urgent",
        waitsForPause: false,
        attempted: `describe cluster ${cluster}`,
      },
      (abortSignal) => client.send(new DescribeClustersCommand({ clusters: [cluster] }), { abortSignal }),
      signal,
    );
    const [found] = clusters;
    if (!found) throw new NotFoundError(`find ECS cluster ${cluster}: there is none in this region; create it, or set cluster`);
    if (found.status !== undefined && found.status !== "ACTIVE")
      throw new InvalidInputError(`use ECS cluster ${cluster}: it is ${found.status}, expected ACTIVE`);
  }

  #call<T>(call: EcsCall, request: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    return send(this.#options, { isIdempotent: true, ...call }, request, signal);
  }

  /** @throws UnavailableError if an answer has no list, or its token was returned before: the list is not known to be complete then */
  async #pages(
    attempted: string,
    next: (token: string | undefined) => Promise<{ readonly entries: unknown; readonly nextToken: unknown }>,
  ): Promise<readonly string[]> {
    const all: string[] = [];
    const tokens = new Set<string>();
    let token: string | undefined;
    for (;;) {
      const parsed = pageSchema.safeParse(await next(token));
      if (!parsed.success) throw new UnavailableError(`${attempted}: ECS answered without a list: ${problemOf(parsed.error)}`);
      const { entries, nextToken } = parsed.data;
      all.push(...entries);
      token = nextToken || undefined;
      if (token === undefined) return all;
      if (tokens.has(token)) throw new UnavailableError(`${attempted}: the pages of ECS's answer go in a circle`);
      tokens.add(token);
    }
  }
}

function problemOf({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ");
}

/** Shorter values are not replaced in messages, because they would be found everywhere. */
const minSecretLength = 4;

/** Values of a request that may be secret: what differs between pods may come from Secrets. */
function secretsOf({ overrides }: RunTaskCommandInput): readonly string[] {
  const values = (overrides?.containerOverrides ?? []).flatMap(({ environment = [], command = [] }) => [
    ...environment.map(({ value = "" }) => value),
    ...command,
  ]);
  return values.filter((value) => value.length >= minSecretLength);
}
