import type { Clock, Random } from "@virtual-kubelet/clock";
import type { ContainerHost, HostFile } from "../../support/container-host/container-host.ts";
import { ArmError, resourceNotFound } from "./arm-error.ts";
import type { ArmAnswer, ArmPath, ArmRequest } from "./arm-request.ts";
import type { CallLimiter } from "./call-limits.ts";
import { checkBody, checkContainerGroup } from "./check-container-group.ts";
import type { ContainerGroupBody, GroupProperties, VolumeBody } from "./container-group-body.ts";
import { viewOf } from "./container-group-view.ts";
import type { ExecSockets } from "./exec-sockets.ts";
import type { FakeContainer } from "./fake-container.ts";
import { FakeContainerGroup, type GroupTimings } from "./fake-container-group.ts";
import { logContent } from "./log-content.ts";

/** Options of {@link FakeContainerInstances}. */
export interface ContainerInstancesOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly host: ContainerHost;
  readonly timings: GroupTimings;
  readonly limiter: CallLimiter;
  readonly sockets: ExecSockets;
  readonly subscription: string;
  /** Names of existing resource groups. */
  readonly resourceGroups: readonly string[];
  /** Container groups on one page of a list. */
  readonly pageSize: number;
  /** Starts a group's extensions when it has its address. */
  startExtensions(group: FakeContainerGroup): Promise<AsyncDisposable>;
}

/** Behavior that tests change. */
export interface ServiceBehavior {
  /** Why a registry does not give an image; such creates are refused. Default: every image is accessible. */
  refuseImage: (image: string) => string | undefined;
  /** Files of Azure file shares by `account/share`, and of git repositories by URL. */
  readonly files: Map<string, readonly HostFile[]>;
  /**
   * Whether commands are split at spaces. Default: no, because the service documents that it starts a single process and passes no arguments:
   * https://learn.microsoft.com/azure/container-instances/container-instances-exec#restrictions.
   */
  splitsCommands: boolean;
  /** Whether a create with `If-None-Match: *` of an existing container group is refused. Default: no, because the service does not document it. */
  refusesExisting: boolean;
}

/** Routes of Microsoft.ContainerInstance. */
export class FakeContainerInstances {
  /** All container groups by resource group and name in lower case, in the order of their creation. */
  readonly groups: Map<string, FakeContainerGroup> = new Map<string, FakeContainerGroup>();
  readonly behavior: ServiceBehavior = { refuseImage: () => undefined, files: new Map(), splitsCommands: false, refusesExisting: false };
  readonly #options: ContainerInstancesOptions;
  readonly #operations = new Map<string, () => ArmAnswer>();
  #created = 0;

  constructor(options: ContainerInstancesOptions) {
    this.#options = options;
  }

  /** A container group. @throws Error if it does not exist */
  group(name: string): FakeContainerGroup {
    const group = [...this.groups.values()].find((each) => each.name === name);
    if (!group) throw new Error(`there is no container group ${name}`);
    return group;
  }

  /** Answers a request. @param base - URL of the server @throws ArmError */
  async answer(request: ArmRequest, path: ArmPath, base: string): Promise<ArmAnswer> {
    const [collection = "", name, action, ...rest] = path.rest;
    if (collection.toLowerCase() === "locations") return this.#location(path);
    if (collection.toLowerCase() !== "containergroups") throw notSupported(request);
    const resourceGroup = path.resourceGroup;
    if (resourceGroup !== undefined && !this.#options.resourceGroups.some((each) => same(each, resourceGroup)))
      throw new ArmError(404, "ResourceGroupNotFound", `Resource group '${resourceGroup}' could not be found.`);
    if (name === undefined) return this.#list(request, resourceGroup, base);
    if (resourceGroup === undefined) throw notSupported(request);
    const key = `${resourceGroup}/${name}`.toLowerCase();
    if (action === undefined) return this.#resource(request, { key, name, resourceGroup }, base);
    const group = this.groups.get(key);
    if (!group) throw resourceNotFound("Microsoft.ContainerInstance/containerGroups", name, resourceGroup);
    if (action === "containers") return this.#container(request, group, rest, base);
    return this.#act(request, group, action);
  }

  /** Removes all container groups without grace. */
  async loseAll(): Promise<void> {
    const all = [...this.groups.values()];
    this.groups.clear();
    await Promise.all(all.map((group) => group.lose()));
  }

  /** Removes a container group without a trace, as if somebody else had deleted it. */
  async lose(name: string): Promise<void> {
    const group = this.group(name);
    this.groups.delete(`${group.resourceGroup}/${group.name}`.toLowerCase());
    await group.lose();
  }

  async #resource(
    request: ArmRequest,
    place: { readonly key: string; readonly name: string; readonly resourceGroup: string },
    base: string,
  ): Promise<ArmAnswer> {
    const { key, name, resourceGroup } = place;
    const existing = this.groups.get(key);
    if (request.method === "PUT") return this.#put(request, place, base);
    if (request.method === "DELETE") return existing ? this.#delete(key, existing, base) : { status: 204 };
    if (!existing) throw resourceNotFound("Microsoft.ContainerInstance/containerGroups", name, resourceGroup);
    if (request.method === "PATCH") {
      checkBody("Resource", request.body);
      const { tags } = request.body as { readonly tags?: Readonly<Record<string, string>> };
      if (tags) existing.tags = tags;
    } else if (request.method !== "GET") throw notSupported(request);
    return { status: 200, body: this.#view(existing) };
  }

  #put(
    { body, headers }: ArmRequest,
    { key, name, resourceGroup }: { readonly key: string; readonly name: string; readonly resourceGroup: string },
    base: string,
  ): ArmAnswer {
    this.#options.limiter.admitChange("write");
    const group = checkContainerGroup(name, body);
    for (const { properties } of [...group.properties.containers, ...(group.properties.initContainers ?? [])]) {
      const why = this.behavior.refuseImage(properties.image ?? "");
      if (why !== undefined)
        throw new ArmError(
          400,
          "InaccessibleImage",
          `The image '${properties.image ?? ""}' in container group '${name}' is not accessible. ${why}`,
        );
    }
    const existing = this.groups.get(key);
    if (existing && this.behavior.refusesExisting && headers["if-none-match"] === "*")
      throw new ArmError(412, "PreconditionFailed", `The resource '${name}' already exists.`);
    if (existing) return this.#update(existing, group, base);
    this.#checkQuota(name, group);
    const { clock, host, timings, startExtensions } = this.#options;
    const filesOf = (volume: VolumeBody): readonly HostFile[] => this.#filesOf(volume);
    const created = new FakeContainerGroup(name, resourceGroup, group, {
      clock,
      host,
      timings,
      hostName: `${name}-${this.#created++}`,
      filesOf,
      startExtensions,
    });
    this.groups.set(key, created);
    created.begin();
    return { status: 201, headers: this.#track(created, base), body: this.#view(created) };
  }

  /** Source of the rules: https://learn.microsoft.com/azure/container-instances/container-instances-update. */
  #update(existing: FakeContainerGroup, group: ContainerGroupBody, base: string): ArmAnswer {
    if (existing.isTransitioning) {
      const message = `The container group '${existing.name}' is still transitioning, please retry later.`;
      throw new ArmError(409, "ContainerGroupTransitioning", message);
    }
    const isOver = existing.isStopped || existing.state === "Succeeded" || existing.state === "Failed";
    if (!isOver && JSON.stringify(fixedPart(existing.body.properties)) !== JSON.stringify(fixedPart(group.properties))) {
      const message = `The updates on container group '${existing.name}' are invalid. If you are going to update the os type, restart policy, network profile, CPU, memory or GPU resources for a container group, you must delete it first and then create a new one.`;
      throw new ArmError(400, "InvalidContainerGroupUpdate", message);
    }
    const isSame = JSON.stringify(existing.body.properties) === JSON.stringify(group.properties);
    existing.body = group;
    existing.tags = group.tags ?? {};
    if (isOver || !isSame) void existing.restart();
    return { status: 200, headers: this.#track(existing, base), body: this.#view(existing) };
  }

  #delete(key: string, group: FakeContainerGroup, base: string): ArmAnswer {
    this.#options.limiter.admitChange("delete");
    if (group.provisioningState !== "Deleting")
      void group.remove().then(() => {
        if (this.groups.get(key) === group) this.groups.delete(key);
      });
    const isGone = (): boolean => this.groups.get(key) !== group;
    return { status: 202, headers: this.#operation(base, () => (isGone() ? "Succeeded" : "InProgress")) };
  }

  #checkQuota(name: string, { properties }: ContainerGroupBody): void {
    const { groups, cores } = this.#options.limiter.limits;
    const used = [...this.groups.values()].reduce((sum, { body }) => sum + coresOf(body.properties), 0);
    if (this.groups.size >= groups || used + coresOf(properties) > cores) {
      const message = `Resource type 'Microsoft.ContainerInstance/containerGroups' container group quota exceeded in region for '${name}'.`;
      throw new ArmError(409, "ContainerGroupQuotaReached", message);
    }
  }

  #list(request: ArmRequest, resourceGroup: string | undefined, base: string): ArmAnswer {
    if (request.method !== "GET") throw notSupported(request);
    const { pageSize, subscription } = this.#options;
    const all = [...this.groups.values()].filter((group) => resourceGroup === undefined || same(group.resourceGroup, resourceGroup));
    const from = Number(request.query.get("$skiptoken") ?? 0);
    const page = all.slice(from, from + pageSize);
    const query = new URLSearchParams(request.query);
    query.set("$skiptoken", String(from + pageSize));
    return {
      status: 200,
      body: {
        value: page.map((group) => viewOf(group, { subscription, hasInstanceView: false })),
        ...(from + pageSize < all.length && { nextLink: `${base}${request.path}?${query.toString()}` }),
      },
    };
  }

  async #act({ method }: ArmRequest, group: FakeContainerGroup, action: string): Promise<ArmAnswer> {
    if (method === "GET" && same(action, "outboundNetworkDependenciesEndpoints")) return { status: 200, body: [] };
    if (method !== "POST") throw new ArmError(405, "MethodNotAllowed", `The method ${method} is not supported.`);
    switch (action.toLowerCase()) {
      case "stop":
        void group.stop();
        return { status: 204 };
      case "start":
        if (group.isStopped) void group.restart();
        return { status: 202 };
      case "restart":
        void group.restart();
        return { status: 202 };
      default:
        throw new ArmError(404, "NotFound", `The action '${action}' does not exist.`);
    }
  }

  async #container(
    { method, query, body }: ArmRequest,
    group: FakeContainerGroup,
    rest: readonly string[],
    base: string,
  ): Promise<ArmAnswer> {
    const [name = "", action = ""] = rest;
    const container = group.all.find((each) => each.name === name);
    if (!container)
      throw new ArmError(404, "ContainerNotFound", `The container '${name}' in container group '${group.name}' was not found.`);
    if (method === "GET" && action === "logs") {
      const tail = query.get("tail");
      if (tail !== null && !/^\d+$/.test(tail)) throw new ArmError(400, "InvalidParameter", "The value of 'tail' must be an integer.");
      const selection = { tail: tail === null ? undefined : Number(tail), hasTimestamps: query.get("timestamps") === "true" };
      return { status: 200, body: { content: await logContent(container, selection) } };
    }
    if (method === "POST" && action === "exec") return this.#exec(group, container, body, base);
    if (method === "POST" && action === "attach")
      return { status: 200, body: this.#options.sockets.prepareAttach(webSocketBase(base), running(group, container)) };
    throw new ArmError(404, "NotFound", `The action '${action}' does not exist.`);
  }

  #exec(group: FakeContainerGroup, container: FakeContainer, body: unknown, base: string): ArmAnswer {
    checkBody("ContainerExecRequest", body);
    const { command = "", terminalSize = {} } = body as {
      readonly command?: string;
      readonly terminalSize?: { readonly rows?: number; readonly cols?: number };
    };
    const words = this.behavior.splitsCommands ? command.split(" ").filter(Boolean) : [command];
    const { rows = 24, cols = 80 } = terminalSize;
    const size = { rows, columns: cols };
    return { status: 200, body: this.#options.sockets.prepareExec(webSocketBase(base), running(group, container), words, size) };
  }

  #location({ rest }: ArmPath): ArmAnswer {
    const [, location = "", what = "", id = ""] = rest;
    const { groups, cores } = this.#options.limiter.limits;
    switch (what.toLowerCase()) {
      case "operations": {
        const operation = this.#operations.get(id);
        if (!operation) throw new ArmError(404, "OperationNotFound", `The operation '${id}' was not found.`);
        return operation();
      }
      case "usages": {
        const used = [...this.groups.values()].reduce((sum, { body }) => sum + coresOf(body.properties), 0);
        return {
          status: 200,
          body: {
            value: [
              usage("ContainerGroups", "Container Groups", this.groups.size, groups),
              usage("StandardCores", "Standard Cores", used, cores),
            ],
          },
        };
      }
      case "capabilities":
        return { status: 200, body: { value: ["Linux", "Windows"].map((osType) => capability(location, osType)) } };
      case "cachedimages":
        return { status: 200, body: { value: [{ osType: "Linux", image: "ubuntu:20.04" }] } };
      default:
        throw new ArmError(404, "NotFound", `'${what}' does not exist.`);
    }
  }

  #view(group: FakeContainerGroup): object {
    return viewOf(group, { subscription: this.#options.subscription, hasInstanceView: true });
  }

  /** Headers that name the operation of a create or update. */
  #track(group: FakeContainerGroup, base: string): Readonly<Record<string, string>> {
    return this.#operation(base, () =>
      group.provisioningState === "Succeeded" ? "Succeeded" : group.provisioningState === "Failed" ? "Failed" : "InProgress",
    );
  }

  #operation(base: string, status: () => "InProgress" | "Succeeded" | "Failed"): Readonly<Record<string, string>> {
    const id = this.#options.random.uuid();
    this.#operations.set(id, () => ({
      status: 200,
      body: { id, status: status(), ...(status() === "Failed" && { error: { code: "Failed", message: "The operation has failed." } }) },
    }));
    const { subscription } = this.#options;
    const url = `${base}/subscriptions/${subscription}/providers/Microsoft.ContainerInstance/locations/westeurope/operations/${id}?api-version=2018-06-01`;
    return { "azure-asyncoperation": url };
  }

  #filesOf({ azureFile, gitRepo }: VolumeBody): readonly HostFile[] {
    const key = azureFile ? `${azureFile.storageAccountName}/${azureFile.shareName}` : (gitRepo?.repository ?? "");
    return this.behavior.files.get(key) ?? [];
  }
}

function running(group: FakeContainerGroup, container: FakeContainer): NonNullable<FakeContainer["last"]> {
  const { last } = container;
  if (last?.state.kind === "running") return last;
  throw new ArmError(409, "ContainerNotRunning", `The container '${container.name}' in container group '${group.name}' is not running.`);
}

/** The part of a container group that an update cannot change. */
function fixedPart({
  osType,
  restartPolicy,
  sku,
  subnetIds,
  volumes,
  ipAddress,
  containers,
  initContainers = [],
}: GroupProperties): object {
  const names = [...containers, ...initContainers].map(({ name, properties }) => [name, properties.resources]);
  return [osType, restartPolicy, sku, subnetIds, volumes, ipAddress?.type, ipAddress?.dnsNameLabel, names];
}

function coresOf({ containers }: GroupProperties): number {
  return containers.reduce((sum, { properties }) => sum + (properties.resources?.requests.cpu ?? 0), 0);
}

function usage(name: string, localizedValue: string, currentValue: number, limit: number): object {
  return { unit: "Count", currentValue, limit: Number.isFinite(limit) ? limit : 1_000_000, name: { value: name, localizedValue } };
}

function capability(location: string, osType: string): object {
  const capabilities = { maxMemoryInGB: 240, maxCpu: 31, maxGpuCount: 0 };
  return { resourceType: "containerGroups", osType, location, ipAddressType: "Public", gpu: "None", capabilities };
}

function webSocketBase(base: string): string {
  return base.replace(/^http/, "ws");
}

function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

function notSupported({ method, path }: ArmRequest): ArmError {
  return new ArmError(404, "NotFound", `${method} ${path} is not an operation of Microsoft.ContainerInstance.`);
}
