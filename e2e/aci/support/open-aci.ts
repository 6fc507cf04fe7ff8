import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import type { Pod, PodEvent, PodRef, PodUpdate, Provider, ProviderHost, ResolvedPod } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { provider as definition } from "../../../providers/aci/src/index.ts";
import { PretendHost } from "../../support/container-host/pretend-host.ts";
import type { ChooseScript } from "../../support/container-host/run-script.ts";
import { resolverOf } from "../../zun/support.ts";
import { FakeAzure, fakeAccount, type FakeAzureOptions } from "../fake/fake-azure.ts";
import type { FakeContainerGroup } from "../fake/fake-container-group.ts";
import { trustAuthority } from "../trust-authority.ts";
import { InFlight } from "./in-flight.ts";

const { subscriptionId, resourceGroup, location, tenantId, clientId, clientSecret } = fakeAccount;
const { signal } = new AbortController();

/** An event of a pod. */
export interface TakenEvent extends PodEvent {
  readonly ref: PodRef;
}

/** A sample of a metric. */
export interface TakenMetric {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
}

/** Options of {@link openAci}. */
export interface AciOptions {
  /** Behavior of containers. */
  readonly script?: ChooseScript | undefined;
  /** Pods at the API server. */
  readonly pods?: readonly Pod[] | undefined;
  readonly azure?: Partial<FakeAzureOptions> | undefined;
  /** Configuration on top of that of the fake's account. */
  readonly config?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * The provider with its own HTTP pipeline on a served fake, both on virtual time: time passes only when all requests have been answered, except for
 * those that the fake never answers.
 */
export interface OpenedAci extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly azure: FakeAzure;
  readonly provider: Provider;
  readonly updates: PodUpdate[];
  readonly events: TakenEvent[];
  /** Everything that was logged, as JSON. */
  readonly log: string[];
  readonly metrics: TakenMetric[];
  /** File with the secret of the service principal. */
  readonly secretFile: string;
  /** All container groups. */
  groups(): readonly FakeContainerGroup[];
  /** Creates a pod; time passes until the call has returned. @returns its error */
  create(pod: Pod, resolved?: ResolvedPod): Promise<unknown>;
  /** Waits on virtual time for a promise, and returns its result. */
  settle<T>(promise: Promise<T>): Promise<PromiseSettledResult<T>>;
  /** Last reported phase of a pod; `gone` if the pod was reported as gone. */
  phaseOf(pod: Pod): string | undefined;
  /** Lets time pass until a pod has a phase. @returns milliseconds */
  untilPhase(pod: Pod, phase: string): Promise<number>;
  /** Opens another provider on the same account, as after a restart of the program; the last one takes the updates. */
  reopen(): Promise<Provider>;
}

/** Opens the provider. */
export async function openAci({ script, pods = [], azure: azureOptions = {}, config = {} }: AciOptions = {}): Promise<OpenedAci> {
  await using ends = new AsyncDisposableStack();
  const port = (): string => new URL(azure.url).port;
  const inFlight = ends.use(new InFlight(port, (localPort) => azure.heldPorts.has(localPort)));
  const clock = new VirtualClock(undefined, { settled: () => inFlight.settled() });
  const host = new PretendHost({ clock, script: (run, group) => script?.(run, group) ?? {} });
  const azure: FakeAzure = ends.use(new FakeAzure({ host, clock, random: new SeededRandom(1), ...azureOptions }));
  azure.tokens.lifetimeSeconds = 365 * 24 * 3600;
  await azure.listen();
  ends.use(trustAuthority(azure.caCertificate));
  const folder = mkdtempSync(join(tmpdir(), "vk-aci-"));
  ends.defer(() => rmSync(folder, { recursive: true, force: true }));
  const [caFile, secretFile] = [join(folder, "ca.pem"), join(folder, "secret")];
  writeFileSync(caFile, azure.caCertificate);
  writeFileSync(secretFile, clientSecret);

  const updates: PodUpdate[] = [];
  const events: TakenEvent[] = [];
  const log: string[] = [];
  const metrics: TakenMetric[] = [];
  const note = (fields: unknown, message?: string): void => void log.push(JSON.stringify([fields, message], replaceErrors));
  const logger = { debug: note, info: note, warn: note, error: note, child: () => logger };
  const measure = (name: string, labelsOrValue?: unknown, more?: unknown): void => {
    const labels = [labelsOrValue, more].find((each) => typeof each === "object" && each !== null);
    metrics.push({ name, labels: labels as TakenMetric["labels"] });
  };
  const nothing = (): never => {
    throw new NotFoundError("the test host has no such objects");
  };
  const providerHost: ProviderHost = {
    nodeName: "aci-e2e",
    clusterId: "cluster-e2e",
    nodeAddress: undefined,
    clusterDomain: "cluster.local",
    logger,
    metrics: { count: measure, gauge: measure, observe: measure },
    clock,
    random: new SeededRandom(2),
    getSecret: nothing,
    getConfigMap: nothing,
    getServiceAccountToken: nothing,
    resolvePod: nothing,
    findPod: ({ uid }) => pods.find(({ metadata }) => metadata?.uid === uid),
    recordEvent: (ref, event) => void events.push({ ref, ...event }),
  };
  const parsed = definition.configSchema.safeParse({
    subscriptionId,
    resourceGroup,
    region: location,
    endpoint: azure.url,
    authorityHost: azure.url,
    caFile,
    credential: "clientSecret",
    tenantId,
    clientId,
    clientSecretFile: secretFile,
    azureMonitorMetrics: false,
    ...config,
  });
  if (!parsed.success) throw new Error(JSON.stringify(parsed.error.issues));
  const providers = ends.use(new AsyncDisposableStack());
  const open = async (): Promise<Provider> => {
    const provider = await definition.create(providerHost, parsed.data);
    providers.defer(async () => provider[Symbol.asyncDispose]?.());
    // The libraries for credentials are loaded in real time.
    await provider.ping?.(signal);
    return provider;
  };
  const all = ends.move();
  const opened: OpenedAci = {
    clock,
    azure,
    provider: await open(),
    updates,
    events,
    log,
    metrics,
    secretFile,
    groups: () => [...azure.instances.groups.values()],
    async create(pod, resolved = resolverOf(pod)) {
      const result = await opened.settle(opened.provider.createPod(pod, resolved, signal));
      return result.status === "rejected" ? result.reason : undefined;
    },
    async settle<T>(promise: Promise<T>) {
      const result = Promise.allSettled([promise]);
      let isSettled = false;
      void result.then(() => (isSettled = true));
      await clock.runUntil(() => isSettled);
      return (await result)[0];
    },
    phaseOf(pod) {
      const last = updates.findLast(({ ref }) => ref.uid === pod.metadata?.uid);
      return last === undefined ? undefined : "status" in last ? last.status.phase : "gone";
    },
    untilPhase: (pod, phase) => clock.runUntil(() => opened.phaseOf(pod) === phase, { withinMs: 900_000 }),
    reopen: open,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
  opened.provider.notifyPods?.((update) => void updates.push(update));
  return opened;
}

/** Errors have no fields of their own in JSON. */
function replaceErrors(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const own = Object.getOwnPropertyNames(value).map((name): [string, unknown] => [name, value[name as keyof Error]]);
  return Object.fromEntries([...own, ["name", value.name]]);
}
