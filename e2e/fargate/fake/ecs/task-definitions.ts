import type { RegisterTaskDefinitionRequest, Tag } from "@aws-sdk/client-ecs";
import type { Clock } from "@virtual-kubelet/clock";
import { AwsError, clientError, invalidParameter } from "../api/aws-error.ts";
import { ecsArn } from "./arns.ts";
import { takePage } from "./pages.ts";
import { validateTags, validateTaskDefinition } from "./validate-task-definition.ts";

/** A revision of a task definition. */
export interface FakeTaskDefinition {
  readonly arn: string;
  readonly family: string;
  readonly revision: number;
  readonly request: Omit<RegisterTaskDefinitionRequest, "tags">;
  readonly registeredAtMs: number;
  tags: readonly Tag[];
  status: "ACTIVE" | "INACTIVE" | "DELETE_IN_PROGRESS";
  deregisteredAtMs?: number;
}

/** The account's task definitions, and the operations on them. */
export class TaskDefinitions {
  /** By ARN. */
  readonly all: Map<string, FakeTaskDefinition> = new Map();
  /** Number of revisions that each family has ever had. */
  readonly #revisions = new Map<string, number>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  register(request: RegisterTaskDefinitionRequest): object {
    validateTaskDefinition(request);
    const { tags = [], ...rest } = request;
    const family = request.family ?? "";
    const revision = (this.#revisions.get(family) ?? 0) + 1;
    this.#revisions.set(family, revision);
    const arn = ecsArn(`task-definition/${family}:${revision}`);
    const definition: FakeTaskDefinition = {
      arn,
      family,
      revision,
      request: structuredClone(rest),
      registeredAtMs: this.#clock.now(),
      tags,
      status: "ACTIVE",
    };
    this.all.set(arn, definition);
    return { taskDefinition: toWire(definition), ...(tags.length > 0 && { tags }) };
  }

  describe({ taskDefinition = "", include = [] }: { readonly taskDefinition?: string; readonly include?: readonly string[] }): object {
    const definition = this.find(taskDefinition);
    if (definition === undefined) throw clientError("Unable to describe task definition.");
    return { taskDefinition: toWire(definition), ...(include.includes("TAGS") && { tags: definition.tags }) };
  }

  list(request: {
    readonly familyPrefix?: string;
    readonly status?: string;
    readonly sort?: string;
    readonly maxResults?: number;
    readonly nextToken?: string;
  }): object {
    const { familyPrefix, status = "ACTIVE", sort = "ASC" } = request;
    const listed = [...this.all.values()]
      .filter((definition) => definition.status === status && (familyPrefix === undefined || definition.family === familyPrefix))
      .sort((one, other) => (one.family < other.family ? -1 : one.family > other.family ? 1 : one.revision - other.revision));
    if (sort === "DESC") listed.reverse();
    const { page, nextToken } = takePage(listed, ({ arn }) => arn, request);
    return { taskDefinitionArns: page.map(({ arn }) => arn), ...(nextToken !== undefined && { nextToken }) };
  }

  /** Families by the beginning of their names. One is ACTIVE if it has an active revision, and INACTIVE if it has only inactive ones. */
  families(request: {
    readonly familyPrefix?: string;
    readonly status?: string;
    readonly maxResults?: number;
    readonly nextToken?: string;
  }): object {
    const { familyPrefix = "", status = "ALL" } = request;
    const statuses = new Map<string, string>();
    for (const definition of this.all.values())
      if (definition.status === "ACTIVE" || (definition.status === "INACTIVE" && !statuses.has(definition.family)))
        statuses.set(definition.family, definition.status);
    const listed = [...statuses]
      .flatMap(([family, found]) => (family.startsWith(familyPrefix) && (status === "ALL" || status === found) ? [family] : []))
      .sort();
    const { page, nextToken } = takePage(listed, (family) => family, request);
    return { families: page, ...(nextToken !== undefined && { nextToken }) };
  }

  deregister({ taskDefinition = "" }: { readonly taskDefinition?: string }): object {
    const definition = this.#exact(taskDefinition);
    if (definition === undefined)
      throw clientError("The specified task definition does not exist. Specify a valid account, family, revision and try again.");
    if (definition.status === "DELETE_IN_PROGRESS") throw clientError("The specified task definition is being deleted.");
    if (definition.status === "ACTIVE") definition.deregisteredAtMs = this.#clock.now();
    definition.status = "INACTIVE";
    return { taskDefinition: toWire(definition) };
  }

  delete({ taskDefinitions = [] }: { readonly taskDefinitions?: readonly string[] }): object {
    if (taskDefinitions.length === 0) throw invalidParameter("Task definitions can not be empty.");
    if (taskDefinitions.length > 10) throw invalidParameter("Task definitions can not be more than 10.");
    const deleted: object[] = [];
    const failures: object[] = [];
    for (const name of taskDefinitions) {
      const definition = this.#exact(name);
      if (definition === undefined)
        failures.push({
          arn: name,
          reason: "The specified task definition does not exist. Specify a valid account, family, revision and try again.",
        });
      else if (definition.status === "ACTIVE")
        failures.push({
          arn: definition.arn,
          reason: "The specified task definition is still in ACTIVE status. Please deregister the target and try again.",
        });
      else {
        definition.status = "DELETE_IN_PROGRESS";
        deleted.push(toWire(definition));
      }
    }
    return { taskDefinitions: deleted, failures };
  }

  tag(arn: string, change: (tags: readonly Tag[]) => readonly Tag[]): void {
    const definition = this.all.get(arn);
    if (definition === undefined) throw new AwsError("ResourceNotFoundException", "The specified task definition does not exist.");
    const tags = change(definition.tags);
    validateTags(tags);
    definition.tags = tags;
  }

  /** Definition of that ARN, `family:revision`, or the newest active one of a family. */
  find(name: string): FakeTaskDefinition | undefined {
    const exact = this.#exact(name);
    if (exact !== undefined || /:\d+$/.test(name)) return exact;
    const family = name.split("/").at(-1);
    return [...this.all.values()].filter((each) => each.family === family && each.status === "ACTIVE").at(-1);
  }

  #exact(name: string): FakeTaskDefinition | undefined {
    return this.all.get(name.startsWith("arn:") ? name : ecsArn(`task-definition/${name}`));
  }
}

function toWire(definition: FakeTaskDefinition): object {
  const { arn, revision, request, status, registeredAtMs, deregisteredAtMs } = definition;
  return {
    ...request,
    taskDefinitionArn: arn,
    revision,
    status,
    containerDefinitions: (request.containerDefinitions ?? []).map((container) => ({
      cpu: 0,
      portMappings: [],
      essential: true,
      environment: [],
      mountPoints: [],
      volumesFrom: [],
      ...container,
    })),
    volumes: request.volumes ?? [],
    placementConstraints: request.placementConstraints ?? [],
    compatibilities: ["EC2", "FARGATE"],
    registeredAt: registeredAtMs / 1000,
    registeredBy: "arn:aws:iam::123456789012:root",
    ...(deregisteredAtMs !== undefined && { deregisteredAt: deregisteredAtMs / 1000 }),
  };
}
