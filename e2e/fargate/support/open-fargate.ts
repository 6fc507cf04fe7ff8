import { ECSClient } from "@aws-sdk/client-ecs";
import { CloudWatchLogsClient } from "@aws-sdk/client-cloudwatch-logs";
import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import type { Pod, PodUpdate, ProviderHost } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { CallBudget, RemotePodProvider } from "@virtual-kubelet/remote-pods";
import { FargateBackend } from "../../../providers/fargate/src/backend.ts";
import { backendLimits } from "../../../providers/fargate/src/backend-limits.ts";
import { fargateConfigSchema } from "../../../providers/fargate/src/config/schema.ts";
import { PretendHost } from "../../support/container-host/pretend-host.ts";
import type { ChooseScript } from "../../support/container-host/run-script.ts";
import { publishedRates } from "../fake/api/request-rates.ts";
import { FakeAws } from "../fake/fake-aws.ts";
import { configFor } from "./fargate-config.ts";
import { clientOptions } from "./rig.ts";

/** The provider on the fake, both on virtual time: time passes only when all requests have been answered. */
export interface OpenedFargate extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly aws: FakeAws;
  readonly provider: RemotePodProvider<unknown, unknown, unknown>;
  readonly updates: PodUpdate[];
  readonly events: { readonly reason: string; readonly message: string }[];
  /** Everything that was logged, as JSON. */
  readonly log: string[];
  /** Names and labels of all metrics, as JSON. */
  readonly metrics: string[];
  /** Credentials of the next requests. */
  credentials: { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string };
  /** Opens a second provider on the same account, as after a restart of the program. @param changes - settings that have changed */
  reopen(changes?: object): Promise<RemotePodProvider<unknown, unknown, unknown>>;
}

/**
 * Opens the provider. Rates of the account are those that are published.
 *
 * @param pods - pods of the API server
 * @param changes - settings of the provider
 */
export async function openFargate(script?: ChooseScript, pods: readonly Pod[] = [], changes: object = {}): Promise<OpenedFargate> {
  let inFlight = 0;
  let idle = Promise.withResolvers<void>();
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const settled = async (): Promise<void> => {
    for (await turn(); inFlight > 0; await turn()) await idle.promise;
  };
  const clock = new VirtualClock(undefined, { settled });
  const aws = await FakeAws.start({
    clock,
    random: new SeededRandom(1),
    host: new PretendHost({ clock, script }),
    rates: publishedRates,
  });
  const counting = <T extends { send(...args: never[]): unknown }>(client: T): T => {
    const send = client.send.bind(client);
    const counted = async (...args: never[]): Promise<unknown> => {
      inFlight++;
      try {
        return await send(...args);
      } finally {
        if (--inFlight === 0) {
          idle.resolve();
          idle = Promise.withResolvers();
        }
      }
    };
    return Object.assign(client, { send: counted });
  };
  const credentials = async (): Promise<OpenedFargate["credentials"] & { readonly expiration: Date }> => ({
    ...opened.credentials,
    expiration: new Date(0),
  });
  const options = { ...clientOptions(aws.endpoint), credentials };
  const ecs = new ECSClient(options);
  const logs = new CloudWatchLogsClient(options);
  const clients = { ecs: counting(ecs), logs: counting(logs) };
  const updates: PodUpdate[] = [];
  const events: { readonly reason: string; readonly message: string }[] = [];
  const log: string[] = [];
  const note = (fields: unknown, message?: string): void => void log.push(JSON.stringify([fields, message]));
  const metrics: string[] = [];
  const measure = (name: string, ...rest: readonly unknown[]): void => void metrics.push(JSON.stringify([name, ...rest]));
  const logger = { debug: note, info: note, warn: note, error: note, child: () => logger };
  const nothing = (): never => {
    throw new NotFoundError("the test host has no such objects");
  };
  const host: ProviderHost = {
    nodeName: "fargate-e2e",
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
    recordEvent: (_ref, { reason, message }) => void events.push({ reason, message }),
  };
  const disposables = new AsyncDisposableStack();
  disposables.use(aws);
  disposables.defer(() => {
    ecs.destroy();
    logs.destroy();
  });
  const open = async (changed: object = {}): Promise<RemotePodProvider<unknown, unknown, unknown>> => {
    const parsed = fargateConfigSchema.safeParse({ ...configFor(aws), ...changes, ...changed });
    if (!parsed.success) throw new Error(JSON.stringify(parsed.error.issues));
    const config = parsed.data;
    const budget = disposables.use(
      new CallBudget({ backEnd: "fargate", rates: backendLimits.rates, clock, random: host.random, metrics: host.metrics }),
    );
    const backend = disposables.use(new FargateBackend({ host, config, clients, budget }));
    return disposables.use(new RemotePodProvider({ host, backend })) as unknown as RemotePodProvider<unknown, unknown, unknown>;
  };
  const opened: OpenedFargate = {
    clock,
    aws,
    updates,
    events,
    log,
    metrics,
    credentials: clientOptions("").credentials,
    provider: await open(),
    reopen: open,
    [Symbol.asyncDispose]: () => disposables[Symbol.asyncDispose](),
  };
  return opened;
}
