import type { ContainerStatus, DeepReadonly, Provider, ProviderDefinition, ProviderHost, ProviderPodStatus } from "@virtual-kubelet/core";
import { allChecks, type Check, type ConformanceOptions } from "@virtual-kubelet/testing/conformance";

/** A provider that passes the suite but for one fault. */
export interface BrokenProvider {
  /** What it does wrong, as the end of a sentence: "a provider that …". */
  readonly fault: string;
  /** The check that finds it. */
  readonly check: Check;
  /** What the check says of it. */
  readonly says: RegExp;
  /** Options of a run of the suite on it; disposed after the run. */
  options(): ConformanceOptions & Partial<AsyncDisposable>;
}

/** Methods in place of a provider's own. */
export type Change = (provider: Provider, host: ProviderHost) => Partial<Provider>;

/** Milliseconds that a run on a broken provider waits. */
const timeouts = { startMs: 5000, endMs: 5000, callMs: 5000, checkMs: 30_000 } as const;

/** The good provider with methods in place of its own. */
export function breakProvider<Options extends ConformanceOptions>(good: Options, change: Change): Options {
  const provider: ProviderDefinition = {
    ...good.provider,
    async create(host, config) {
      const whole = await good.provider.create(host, config);
      const changed = change(whole, host);
      return new Proxy(whole, {
        get(target, key) {
          const owner = key in changed ? changed : target;
          const value: unknown = Reflect.get(owner, key);
          return typeof value === "function" ? value.bind(owner) : value;
        },
      });
    },
  };
  return { ...good, provider, timeouts };
}

/** One whose fault is that something does not come back: that is waited for less. */
export function hanging<Options extends ConformanceOptions>(options: Options): Options {
  return { ...options, timeouts: { ...timeouts, callMs: 1000 } };
}

/** The one check whose name holds the text. */
export function checkNamed(text: string): Check {
  const found = allChecks.filter(({ name }) => name.includes(text));
  const [check] = found;
  if (!check || found.length > 1) throw new Error(`${found.length} checks hold ${JSON.stringify(text)} in their names`);
  return check;
}

/** Lets every status go through a function, however it is told. */
export function withStatus(change: (status: ProviderPodStatus) => ProviderPodStatus): Change {
  return (provider) => ({
    getPodStatus: async (ref, signal) => change(await provider.getPodStatus(ref, signal)),
    getPod: async (ref, signal) => {
      const pod = await provider.getPod(ref, signal);
      return { ...pod, status: change(pod.status) };
    },
    getPods: async (signal) => {
      const { pods, complete } = await provider.getPods(signal);
      return { pods: pods.map((pod) => ({ ...pod, status: change(pod.status) })), complete };
    },
    notifyPods: (listener) =>
      provider.notifyPods?.((update) => listener("status" in update ? { ...update, status: change(update.status) } : update)),
  });
}

type Container = DeepReadonly<ContainerStatus>;

/** Lets the status of each container go through a function. */
export function mapContainers(change: (container: Container) => Container): (status: ProviderPodStatus) => ProviderPodStatus {
  return (status) => ({ ...status, containerStatuses: status.containerStatuses?.map(change) });
}
