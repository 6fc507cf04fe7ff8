import { UnavailableError } from "@virtual-kubelet/errdefs";
import { z } from "zod";
import { ArmClient, segment, type ArmRequest } from "./arm-client.ts";
import type { ContainerGroupBody } from "./container-group.ts";
import { groupSchema, listedSchema, logsSchema, socketSchema, type ContainerGroup, type ListedGroup } from "./group-schema.ts";
import { secretsOf } from "./group-secrets.ts";

/** Version of Microsoft.ContainerInstance's API. */
export const apiVersion = "2025-09-01";

/** A container group by its place. */
export interface GroupPlace {
  readonly resourceGroup: string;
  readonly name: string;
}

/** A list of container groups, as far as it could be read. */
export interface GroupList {
  readonly groups: readonly ListedGroup[];
  readonly problems: readonly string[];
}

/** Operations of Microsoft.ContainerInstance. All of them throw as `ArmClient.send` does. */
export class ContainerGroups {
  readonly #arm: ArmClient;
  readonly #subscriptionId: string;

  constructor(arm: ArmClient, subscriptionId: string) {
    this.#arm = arm;
    this.#subscriptionId = subscriptionId;
  }

  /** Path of a group, or of all groups of a resource group. */
  pathOf({ resourceGroup, name }: { readonly resourceGroup: string; readonly name?: string | undefined }): string {
    return groupPath({ subscriptionId: this.#subscriptionId, resourceGroup, name });
  }

  /**
   * Creates a group, and returns it as Azure has accepted it. Azure goes on in the background.
   *
   * @throws ConflictError if there is a group of that name
   */
  create(place: GroupPlace, body: ContainerGroupBody, signal: AbortSignal): Promise<ContainerGroup> {
    const request: ArmRequest = {
      ...this.#request("put", place, `create container group ${place.name}`),
      // Never changes an existing group, which would restart its containers.
      headers: { "if-none-match": "*" },
      body,
      call: { class: "create", operation: "ContainerGroups_CreateOrUpdate", isIdempotent: false },
      secrets: secretsOf(body),
    };
    return this.#group(request, place, signal);
  }

  /** @throws NotFoundError if Azure has no such group */
  get(place: GroupPlace, signal: AbortSignal): Promise<ContainerGroup> {
    const request: ArmRequest = {
      ...this.#request("get", place, `read container group ${place.name}`),
      call: { class: "read", operation: "ContainerGroups_Get", isIdempotent: true },
    };
    return this.#group(request, place, signal);
  }

  /** Begins to delete a group. A group that is gone is no error. */
  async delete(place: GroupPlace, signal: AbortSignal): Promise<void> {
    const request: ArmRequest = {
      ...this.#request("delete", place, `delete container group ${place.name}`),
      call: { class: "delete", operation: "ContainerGroups_Delete", isIdempotent: true },
    };
    await this.#arm.accept(request, signal);
  }

  /**
   * Lists the groups of a resource group. Entries that cannot be read, and pages that fail after the first one, are problems.
   *
   * @throws if the first page fails
   */
  async list(resourceGroup: string, signal: AbortSignal): Promise<GroupList> {
    const groups: ListedGroup[] = [];
    const problems: string[] = [];
    let pages = 0;
    try {
      for await (const entries of this.#arm.pages(this.#listRequest(resourceGroup), signal)) {
        pages++;
        for (const entry of entries) {
          const parsed = listedSchema.safeParse(entry);
          if (parsed.success) groups.push(parsed.data);
          else
            problems.push(
              `resource group ${resourceGroup}: an entry of the list cannot be read: ${parsed.error.issues[0]?.path.join(".")}`,
            );
        }
      }
    } catch (error) {
      signal.throwIfAborted();
      if (pages === 0) throw error;
      problems.push(`resource group ${resourceGroup}: page ${pages + 1} of the list: ${error instanceof Error ? error.message : "failed"}`);
    }
    return { groups, problems };
  }

  /** Reads the first page of a list, as a check of address, credentials and rights. */
  async ping(resourceGroup: string, signal: AbortSignal): Promise<void> {
    const request = this.#listRequest(resourceGroup);
    await this.#arm.accept({ ...request, call: { ...request.call, priority: "urgent", waitsForPause: false } }, signal);
  }

  /** Returns a container's output, or its last lines, each with its time. */
  async logs(place: GroupPlace & { readonly container: string; readonly tail?: number | undefined }, signal: AbortSignal): Promise<string> {
    const { container, tail } = place;
    const request: ArmRequest = {
      ...this.#request("get", place, `read the log of container ${container}`, `/containers/${segment(container)}/logs`),
      query: { timestamps: "true", ...(tail !== undefined && { tail: String(tail) }) },
      call: { class: "read", operation: "Containers_ListLogs", isIdempotent: true, priority: "urgent" },
    };
    return (await this.#arm.send(request, logsSchema, signal)).content ?? "";
  }

  /** Prepares a command; it begins when its WebSocket is opened. */
  exec(
    place: GroupPlace & {
      readonly container: string;
      readonly command: string;
      readonly size: { readonly rows: number; readonly cols: number };
    },
    signal: AbortSignal,
  ): Promise<{ readonly webSocketUri: string; readonly password: string }> {
    const { container, command, size } = place;
    const request: ArmRequest = {
      ...this.#request("post", place, `run a command in container ${container}`, `/containers/${segment(container)}/exec`),
      body: { command, terminalSize: size },
      call: { class: "write", operation: "Containers_ExecuteCommand", isIdempotent: false },
    };
    return this.#arm.send(request, socketSchema, signal);
  }

  /** Prepares a stream of a container's output. */
  attach(
    place: GroupPlace & { readonly container: string },
    signal: AbortSignal,
  ): Promise<{ readonly webSocketUri: string; readonly password: string }> {
    const request: ArmRequest = {
      ...this.#request("post", place, `attach to container ${place.container}`, `/containers/${segment(place.container)}/attach`),
      call: { class: "write", operation: "Containers_Attach", isIdempotent: false },
    };
    return this.#arm.send(request, socketSchema, signal);
  }

  /** Returns figures of Azure Monitor for the last minutes, by container. @param span - ISO 8601 interval, such as `START/END` */
  metrics(place: GroupPlace & { readonly span: string }, signal: AbortSignal): Promise<MonitorAnswer> {
    const request: ArmRequest = {
      ...this.#request("get", place, `read the metrics of ${place.name}`, "/providers/microsoft.insights/metrics"),
      apiVersion: "2018-01-01",
      query: {
        metricnames: "CpuUsage,MemoryUsage",
        timespan: place.span,
        interval: "PT1M",
        aggregation: "average",
        $filter: "containerName eq '*'",
      },
      call: { class: "monitor", operation: "Metrics_List", isIdempotent: true },
    };
    return this.#arm.send(request, monitorSchema, signal);
  }

  /** @throws UnavailableError if the answer is about another group */
  async #group(request: ArmRequest, { name }: GroupPlace, signal: AbortSignal): Promise<ContainerGroup> {
    const group = await this.#arm.send(request, groupSchema, signal);
    if (group.name.toLowerCase() === name.toLowerCase()) return group;
    throw new UnavailableError(`${request.attempted}: Azure's answer is about another container group, ${group.name}`);
  }

  #listRequest(resourceGroup: string): ArmRequest {
    return {
      method: "get",
      path: this.pathOf({ resourceGroup }),
      apiVersion,
      attempted: `list the container groups of ${resourceGroup}`,
      call: { class: "read", operation: "ContainerGroups_ListByResourceGroup", isIdempotent: true },
    };
  }

  #request(method: ArmRequest["method"], place: GroupPlace, attempted: string, below = ""): Omit<ArmRequest, "call"> {
    return { method, path: `${this.pathOf(place)}${below}`, apiVersion, attempted };
  }
}

/** Returns the path of a container group, or of all groups of a resource group. */
export function groupPath(place: {
  readonly subscriptionId: string;
  readonly resourceGroup: string;
  readonly name?: string | undefined;
}): string {
  const { subscriptionId, resourceGroup, name } = place;
  const path = `/subscriptions/${segment(subscriptionId)}/resourceGroups/${segment(resourceGroup)}/providers/Microsoft.ContainerInstance/containerGroups`;
  return name === undefined ? path : `${path}/${segment(name)}`;
}

/** Returns the resource group in a resource id. @throws UnavailableError for text that is none */
export function resourceGroupOf(id: string): string {
  const [, name] = /^\/subscriptions\/[^/]+\/resourceGroups\/([^/]+)\//i.exec(id) ?? [];
  if (name === undefined) throw new UnavailableError(`"${id}" is no resource id`);
  return name;
}

/** Figures of Azure Monitor: for each metric a series for each container. */
export interface MonitorAnswer {
  readonly value: readonly {
    readonly name: { readonly value: string };
    readonly timeseries?:
      | readonly {
          readonly metadatavalues?: readonly { readonly value?: string | null | undefined }[] | null | undefined;
          readonly data?: readonly { readonly timeStamp: string; readonly average?: number | null | undefined }[] | null | undefined;
        }[]
      | null
      | undefined;
  }[];
}

const monitorSchema: z.ZodType<MonitorAnswer> = z.looseObject({
  value: z.array(
    z.looseObject({
      name: z.looseObject({ value: z.string() }),
      timeseries: z
        .array(
          z.looseObject({
            metadatavalues: z.array(z.looseObject({ value: z.string().nullish() })).nullish(),
            data: z.array(z.looseObject({ timeStamp: z.string(), average: z.number().nullish() })).nullish(),
          }),
        )
        .nullish(),
    }),
  ),
});
