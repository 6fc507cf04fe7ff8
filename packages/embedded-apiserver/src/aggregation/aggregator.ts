import type { Clock } from "@virtual-kubelet/clock";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import type { KeyPair } from "@virtual-kubelet/pki";
import type { UserInfo } from "../authentication/user-info.ts";
import { compareVersions, type GroupVersion, type GroupVersions } from "../discovery/api-resources.ts";
import type { ApiRequest, ApiResponse } from "../http/api-request.ts";
import { apiServiceKind } from "../kinds/plain/api-service.ts";
import { endpointSliceKind } from "../kinds/plain/named-kinds.ts";
import { serviceKind } from "../kinds/service/service.ts";
import { goErrorText } from "../outbound/go-error.ts";
import { Disposables } from "../resources/disposables.ts";
import type { Cluster, ClusterEvent } from "../rest/cluster.ts";
import { runResumably } from "../rest/steps.ts";
import { ApiServiceProxy } from "./api-service-proxy.ts";
import { groupVersionPath, probe, readOpenApiPaths, readVersion, type OpenApiPath, type VersionDiscovery } from "./far-discovery.ts";
import { passed, remoteApiService, serviceProblem, unavailable, withAvailability } from "./remote-api-service.ts";
import type { Availability, RemoteApiService } from "./remote-api-service.ts";

/** Options of {@link Aggregator}. */
export interface AggregatorOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  /** Issues the client certificate of the front proxy. */
  readonly issueClient: () => KeyPair;
  /** Called with errors of writes of the condition `Available`; they are retried. */
  readonly onError: (error: unknown) => void;
}

/** An API service that is watched. */
interface Registration {
  service: RemoteApiService;
  /** The object's `spec` as JSON. Changes of its status alone are the own ones. */
  spec: string;
  discovery: VersionDiscovery;
  openApiPaths: Readonly<Record<string, OpenApiPath>>;
  /** Monotonic time at which discovery is read again. */
  readAgainMs: number;
  /** Consecutive failures. */
  failures: number;
  isBusy: boolean;
  /** Whether something changed during the current check. */
  isChanged: boolean;
  timer?: Disposable;
}

/** Source: pkg/controllers/status/remote/remote_available_controller.go of kube-aggregator v0.36.3. */
const checkEachMs = 30_000;
const firstRetryMs = 5;
const attempts = 5;
/** Source: pkg/apiserver/handler_discovery.go of kube-aggregator v0.36.3, `discoveryRefreshInterval`. */
const readEachMs = 60_000;
/** Priority that puts the group of API services first; source: the same file, `APIRegistrationGroupPriority`. */
const ownPriority = 20_001;

/**
 * Forwards the requests of API services with a service, keeps their condition `Available`, and adds them to discovery. It is idle without
 * such an API service.
 *
 * Source: k8s.io/kube-aggregator v0.36.3 pkg/apiserver/apiserver.go.
 */
export class Aggregator implements Disposable {
  readonly #options: AggregatorOptions;
  readonly #proxy: ApiServiceProxy;
  readonly #registrations = new Map<string, Registration>();
  readonly #watch: Disposable;
  /** Watches of services and their endpoints. */
  #endpoints: Disposables | undefined;

  constructor(options: AggregatorOptions) {
    this.#options = options;
    this.#proxy = new ApiServiceProxy(options);
    this.#watch = options.cluster.watch(apiServiceKind, (event) => this.#onApiService(event));
  }

  /** Whether there are API services to forward to. */
  get isIdle(): boolean {
    return this.#registrations.size === 0;
  }

  /** Answers a request below the path of an API service; `undefined` for other paths. */
  answer(request: ApiRequest, path: string, user: UserInfo): Promise<ApiResponse> | undefined {
    const service = this.#serviceOf(path);
    return service === undefined ? undefined : this.#proxy.answer(service, request, user);
  }

  /** Whether requests for a URL are forwarded. */
  isForwarded(url: string): boolean {
    return this.#serviceOf(url.split("?", 1)[0] ?? "") !== undefined;
  }

  /** Adds the registered groups and versions to those of the server, in the order of the priorities of all API services. */
  inOrder(own: readonly GroupVersions[]): GroupVersions[] {
    const versions = new Map(own.map((each) => [each.group, new Set(each.versions)]));
    for (const { service } of this.#registrations.values())
      versions.set(service.group, (versions.get(service.group) ?? new Set()).add(service.version));
    const groupPriority = new Map([[apiServiceKind.group, ownPriority]]);
    const versionPriority = new Map<string, number>();
    for (const { metadata, spec } of this.#options.cluster.values(apiServiceKind)) {
      const { group = "", groupPriorityMinimum = 0 } = spec ?? {};
      groupPriority.set(group, Math.max(groupPriority.get(group) ?? 0, groupPriorityMinimum));
      versionPriority.set(metadata.name, spec?.versionPriority ?? 0);
    }
    const priorityOf = (group: string, version: string): number => versionPriority.get(`${version}.${group}`) ?? 0;
    return [...versions]
      .toSorted(([a], [b]) => (groupPriority.get(b) ?? 0) - (groupPriority.get(a) ?? 0) || (a < b ? -1 : 1))
      .map(([group, all]) => ({
        group,
        versions: [...all].toSorted((a, b) => priorityOf(group, b) - priorityOf(group, a) || compareVersions(a, b)),
      }));
  }

  /** Entry of a registered version in aggregated discovery; `undefined` for those of the server. */
  describe({ group, version }: GroupVersion): VersionDiscovery | undefined {
    return this.#registrations.get(`${version}.${group}`)?.discovery;
  }

  /** Paths of the OpenAPI documents of registered versions. */
  openApiPaths(): Readonly<Record<string, OpenApiPath>> {
    return Object.assign({}, ...[...this.#registrations.values()].map(({ openApiPaths }) => openApiPaths)) as Record<string, OpenApiPath>;
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
    for (const name of this.#registrations.keys()) this.#remove(name);
    this.#proxy[Symbol.dispose]();
  }

  #serviceOf(path: string): RemoteApiService | undefined {
    if (this.isIdle) return undefined;
    const [, root, group = "", version = ""] = path.split("/");
    if (root === "apis") return this.#registrations.get(`${version}.${group}`)?.service;
    const document = path.startsWith("/openapi/v3/") ? path.slice("/openapi/v3/".length) : undefined;
    if (document === undefined) return undefined;
    return [...this.#registrations.values()].find(({ openApiPaths }) => Object.hasOwn(openApiPaths, document))?.service;
  }

  #onApiService({ type, object }: ClusterEvent): void {
    const { name } = object.metadata;
    const service = type === "DELETED" ? undefined : remoteApiService(object);
    if (service === undefined) return this.#remove(name);
    const spec = JSON.stringify(object["spec"]);
    const known = this.#registrations.get(name);
    if (known !== undefined) {
      const isSame = known.spec === spec;
      Object.assign(known, { service, spec });
      if (isSame) return;
      known.readAgainMs = 0;
      return this.#check(name);
    }
    this.#registrations.set(name, {
      service,
      spec,
      discovery: stale(service),
      openApiPaths: {},
      readAgainMs: 0,
      failures: 0,
      isBusy: false,
      isChanged: false,
    });
    this.#endpoints ??= this.#watchEndpoints();
    this.#check(name);
  }

  #remove(name: string): void {
    this.#registrations.get(name)?.timer?.[Symbol.dispose]();
    if (!this.#registrations.delete(name) || !this.isIdle) return;
    this.#endpoints?.dispose();
    this.#endpoints = undefined;
  }

  #watchEndpoints(): Disposables {
    const watches = new Disposables();
    const { cluster } = this.#options;
    const changed = (namespace: string | undefined, service: string | undefined): void => {
      for (const [name, registration] of this.#registrations) {
        const wanted = registration.service.service;
        if (wanted.namespace === namespace && wanted.name === service) this.#check(name);
      }
    };
    watches.use(cluster.watch(serviceKind, ({ object: { metadata } }) => changed(metadata.namespace, metadata.name)));
    watches.use(
      cluster.watch(endpointSliceKind, ({ object: { metadata } }) =>
        changed(metadata.namespace, metadata.labels?.["kubernetes.io/service-name"]),
      ),
    );
    return watches;
  }

  /** Checks an API service after the current synchronous code. */
  #check(name: string): void {
    const registration = this.#registrations.get(name);
    if (registration === undefined) return;
    if (registration.isBusy) {
      registration.isChanged = true;
      return;
    }
    registration.isBusy = true;
    registration.timer?.[Symbol.dispose]();
    void Promise.resolve().then(() => this.#run(name, registration));
  }

  async #run(name: string, registration: Registration): Promise<void> {
    let isPassed = false;
    try {
      isPassed = await this.#sync(name, registration);
    } catch (error) {
      this.#options.onError(error);
    }
    registration.isBusy = false;
    if (this.#registrations.get(name) !== registration) return;
    registration.failures = isPassed ? 0 : registration.failures + 1;
    if (registration.isChanged) {
      registration.isChanged = false;
      return this.#check(name);
    }
    const retryMs = isPassed ? checkEachMs : Math.min(firstRetryMs * 2 ** (registration.failures - 1), checkEachMs);
    registration.timer = this.#options.clock.setTimer(retryMs, () => this.#check(name));
  }

  /** @returns whether there is nothing to retry soon */
  async #sync(name: string, registration: Registration): Promise<boolean> {
    const { cluster, clock } = this.#options;
    const { service } = registration;
    const problem = serviceProblem(cluster, service);
    const availability = problem ?? (await this.#ask(service));
    if (this.#registrations.get(name) !== registration) return true;
    const now = rfc3339(clock.now());
    await runResumably(() => {
      cluster.update(apiServiceKind, undefined, name, (object) => withAvailability(object, availability, now), "status");
    });
    if (availability.status === "False") {
      registration.discovery = stale(service);
      registration.readAgainMs = 0;
      return problem !== undefined;
    }
    return clock.monotonic() < registration.readAgainMs || this.#read(registration);
  }

  /** Asks several times at once, because a service can have several API servers. One success is enough. */
  async #ask(service: RemoteApiService): Promise<Availability> {
    const route = this.#proxy.routeProblem(service);
    if (route !== undefined) return unavailable("FailedDiscoveryCheck", route);
    const url = this.#proxy.shownUrl(service, groupVersionPath(service));
    const attempt = async (): Promise<string | undefined> => {
      try {
        const status = await probe(this.#proxy, service);
        return status >= 200 && status <= 299 ? undefined : `failing or missing response from ${url}: bad status from ${url}: ${status}`;
      } catch (error) {
        return `failing or missing response from ${url}: Get ${JSON.stringify(url)}: ${goErrorText(error)}`;
      }
    };
    const problems = await Promise.all(Array.from({ length: attempts }, attempt));
    const last = problems.at(-1);
    return last === undefined || problems.includes(undefined) ? passed : unavailable("FailedDiscoveryCheck", last);
  }

  /** @returns whether discovery could be read */
  async #read(registration: Registration): Promise<boolean> {
    const { service } = registration;
    registration.readAgainMs = this.#options.clock.monotonic() + readEachMs;
    try {
      registration.discovery = { ...(await readVersion(this.#proxy, service)), freshness: "Current" };
      registration.openApiPaths = await readOpenApiPaths(this.#proxy, service);
      return true;
    } catch {
      registration.discovery = stale(service);
      registration.readAgainMs = 0;
      return false;
    }
  }
}

/** A version of which nothing is known. */
function stale({ version }: RemoteApiService): VersionDiscovery {
  return { version, freshness: "Stale" };
}
