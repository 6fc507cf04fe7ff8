import type { RegisterTaskDefinitionRequest, RunTaskRequest, Tag } from "@aws-sdk/client-ecs";
import { AwsError, invalidParameter } from "../api/aws-error.ts";
import type { ContainerRun } from "../../../support/container-host/container-host.ts";
import type { OpenedSession } from "../exec/session-server.ts";
import { executeCommand } from "./execute-command.ts";
import type { Clusters } from "./clusters.ts";
import type { TaskDefinitions } from "./task-definitions.ts";
import type { Tasks } from "./tasks.ts";

/** Opens a session for a command in a container. */
export type OpenSession = (run: ContainerRun, command: string) => OpenedSession;

/** The operations of Amazon ECS. Inputs have the shapes of AWS's model. */
export class FakeEcs {
  readonly #clusters: Clusters;
  readonly #definitions: TaskDefinitions;
  readonly #tasks: Tasks;
  readonly #openSession: OpenSession;

  constructor(clusters: Clusters, definitions: TaskDefinitions, tasks: Tasks, openSession: OpenSession) {
    this.#openSession = openSession;
    this.#clusters = clusters;
    this.#definitions = definitions;
    this.#tasks = tasks;
  }

  /** @throws AwsError if the operation is refused */
  carryOut(operation: string, input: Readonly<Record<string, unknown>>): object {
    switch (operation) {
      case "CreateCluster":
        return this.#clusters.create(input);
      case "DescribeClusters":
        return this.#clusters.describe(input, (cluster) => this.#tasks.count(cluster));
      case "RegisterTaskDefinition":
        return this.#definitions.register(input as unknown as RegisterTaskDefinitionRequest);
      case "DescribeTaskDefinition":
        return this.#definitions.describe(input);
      case "ListTaskDefinitionFamilies":
        return this.#definitions.families(input);
      case "ListTaskDefinitions":
        return this.#definitions.list(input);
      case "DeregisterTaskDefinition":
        return this.#definitions.deregister(input);
      case "DeleteTaskDefinitions":
        return this.#definitions.delete(input);
      case "RunTask":
        return this.#tasks.run(input as unknown as RunTaskRequest);
      case "DescribeTasks":
        return this.#tasks.describe(input);
      case "ListTasks":
        return this.#tasks.list(input);
      case "StopTask":
        return this.#tasks.stop(input);
      case "ExecuteCommand":
        return executeCommand(this.#tasks, input, this.#openSession);
      case "ListTagsForResource":
        return this.#listTags(input);
      case "TagResource":
        return this.#tag(input);
      case "UntagResource":
        return this.#untag(input);
      default:
        throw new AwsError("UnknownOperationException", `the fake has no operation ${operation}`);
    }
  }

  #listTags({ resourceArn = "" }: { readonly resourceArn?: string }): object {
    let listed: readonly Tag[] = [];
    this.#changeTags(resourceArn, (tags) => (listed = tags));
    return { tags: listed };
  }

  #tag({ resourceArn = "", tags = [] }: { readonly resourceArn?: string; readonly tags?: readonly Tag[] }): object {
    const keys = new Set(tags.map(({ key }) => key));
    this.#changeTags(resourceArn, (old) => [...old.filter(({ key }) => !keys.has(key)), ...tags]);
    return {};
  }

  #untag({ resourceArn = "", tagKeys = [] }: { readonly resourceArn?: string; readonly tagKeys?: readonly string[] }): object {
    this.#changeTags(resourceArn, (old) => old.filter(({ key }) => !tagKeys.includes(key ?? "")));
    return {};
  }

  #changeTags(resourceArn: string, change: (tags: readonly Tag[]) => readonly Tag[]): void {
    if (resourceArn.includes(":task-definition/")) this.#definitions.tag(resourceArn, change);
    else if (resourceArn.includes(":task/")) this.#tasks.tag(resourceArn, change);
    else throw invalidParameter("The fake has tags of tasks and task definitions only.");
  }
}
