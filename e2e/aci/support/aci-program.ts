import type { Clock, Random } from "@virtual-kubelet/clock";
import type { Pod, PodEvent, PodRef, Provider, ProviderHost } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { provider as definition } from "../../../providers/aci/src/index.ts";
import { fakeAccount, type FakeAzure } from "../fake/fake-azure.ts";
import { trustAuthority } from "../trust-authority.ts";

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

/** Options of {@link AciProgram}. */
export interface AciProgramOptions {
  /** A fake that listens. */
  readonly azure: FakeAzure;
  readonly clock: Clock;
  readonly random: Random;
  /** Pods at the API server. */
  readonly pods?: readonly Pod[] | undefined;
  /** Configuration on top of that of the fake's account. */
  readonly config?: Readonly<Record<string, unknown>> | undefined;
}

/** A program's part around the provider: its host, its files, and everything that the provider has said. */
export class AciProgram implements AsyncDisposable {
  readonly events: TakenEvent[] = [];
  /** Everything that was logged, as JSON. */
  readonly log: string[] = [];
  readonly metrics: TakenMetric[] = [];
  /** File with the secret of the service principal. */
  readonly secretFile: string;
  readonly #options: AciProgramOptions;
  readonly #caFile: string;
  readonly #ends = new AsyncDisposableStack();

  constructor(options: AciProgramOptions) {
    const { azure } = options;
    this.#options = options;
    const folder = mkdtempSync(join(tmpdir(), "vk-aci-"));
    this.#ends.defer(() => rmSync(folder, { recursive: true, force: true }));
    this.#ends.use(trustAuthority(azure.caCertificate));
    this.#caFile = join(folder, "ca.pem");
    this.secretFile = join(folder, "secret");
    writeFileSync(this.#caFile, azure.caCertificate);
    writeFileSync(this.secretFile, clientSecret);
  }

  /** Opens a provider, as at each start of the program. It has signed in when this returns. */
  async open(): Promise<Provider> {
    const { azure, config } = this.#options;
    const parsed = definition.configSchema.safeParse({
      subscriptionId,
      resourceGroup,
      region: location,
      endpoint: azure.url,
      authorityHost: azure.url,
      caFile: this.#caFile,
      credential: "clientSecret",
      tenantId,
      clientId,
      clientSecretFile: this.secretFile,
      azureMonitorMetrics: false,
      ...config,
    });
    if (!parsed.success) throw new Error(JSON.stringify(parsed.error.issues));
    const provider = await definition.create(this.#host(), parsed.data);
    this.#ends.defer(async () => provider[Symbol.asyncDispose]?.());
    await provider.ping?.(signal);
    return provider;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ends.disposeAsync();
  }

  #host(): ProviderHost {
    const { clock, random, pods = [] } = this.#options;
    const note = (fields: unknown, message?: string): void => void this.log.push(JSON.stringify([fields, message], replaceErrors));
    const logger = { debug: note, info: note, warn: note, error: note, child: () => logger };
    const measure = (name: string, ...rest: readonly unknown[]): void => {
      const labels = rest.find((each) => typeof each === "object" && each !== null);
      this.metrics.push({ name, labels: labels as TakenMetric["labels"] });
    };
    const nothing = (): never => {
      throw new NotFoundError("the test host has no such objects");
    };
    return {
      nodeName: "aci-e2e",
      clusterId: "cluster-e2e",
      nodeAddress: undefined,
      clusterDomain: "cluster.local",
      logger,
      metrics: { count: measure, gauge: measure, observe: measure },
      clock,
      random,
      getSecret: nothing,
      getConfigMap: nothing,
      getServiceAccountToken: nothing,
      resolvePod: nothing,
      findPod: ({ uid }) => pods.find(({ metadata }) => metadata?.uid === uid),
      recordEvent: (ref, event) => void this.events.push({ ref, ...event }),
    };
  }
}

/** Errors have no fields of their own in JSON. */
function replaceErrors(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const own = Object.getOwnPropertyNames(value).map((name): [string, unknown] => [name, value[name as keyof Error]]);
  return Object.fromEntries([...own, ["name", value.name]]);
}
