import { SeededRandom, VirtualClock, type Clock } from "@virtual-kubelet/clock";
import type { Pod, PodUpdate, Provider, ResolvedPod } from "@virtual-kubelet/core";
import { PretendHost } from "../../support/container-host/pretend-host.ts";
import type { ChooseScript } from "../../support/container-host/run-script.ts";
import { resolverOf } from "../../zun/support.ts";
import { FakeAzure, type FakeAzureOptions } from "../fake/fake-azure.ts";
import type { FakeContainerGroup } from "../fake/fake-container-group.ts";
import { AciProgram, type AciProgramOptions } from "./aci-program.ts";
import { InFlight } from "./in-flight.ts";

const { signal } = new AbortController();

/** Options of {@link openAci}. */
export interface AciOptions extends Pick<AciProgramOptions, "pods" | "config"> {
  /** Behavior of containers. */
  readonly script?: ChooseScript | undefined;
  readonly azure?: Partial<FakeAzureOptions> | undefined;
  /** Milliseconds by which the node's clock is ahead of Azure's. Default: 0. */
  readonly nodeAheadMs?: number | undefined;
  /** Whether the pods are followed from the start. Default: `true`. */
  readonly isFollowed?: boolean | undefined;
}

/**
 * The provider with its own HTTP pipeline on a served fake, both on virtual time: time passes only when all requests have been answered, except for
 * those that the fake never answers.
 */
export interface OpenedAci extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly azure: FakeAzure;
  readonly program: AciProgram;
  readonly provider: Provider;
  readonly updates: PodUpdate[];
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
  /** Opens another provider on the same account, as after a restart of the program. */
  reopen(): Promise<Provider>;
}

/** Opens the provider. */
export async function openAci({
  script,
  azure: azureOptions = {},
  nodeAheadMs = 0,
  isFollowed = true,
  ...options
}: AciOptions = {}): Promise<OpenedAci> {
  await using ends = new AsyncDisposableStack();
  const port = (): string => new URL(azure.url).port;
  const inFlight = ends.use(new InFlight(port, (localPort) => azure.heldPorts.has(localPort)));
  const clock = new VirtualClock(undefined, { settled: () => inFlight.settled() });
  const host = new PretendHost({ clock, script: (run, group) => script?.(run, group) ?? {} });
  const azure: FakeAzure = ends.use(new FakeAzure({ host, clock, random: new SeededRandom(1), ...azureOptions }));
  azure.tokens.lifetimeSeconds = 365 * 24 * 3600;
  await azure.listen();
  const program = ends.use(new AciProgram({ azure, clock: shifted(clock, nodeAheadMs), random: new SeededRandom(2), ...options }));
  const updates: PodUpdate[] = [];
  const provider = await program.open();
  const all = ends.move();
  const opened: OpenedAci = {
    clock,
    azure,
    program,
    provider,
    updates,
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
    reopen: () => program.open(),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
  if (isFollowed) provider.notifyPods?.((update) => void updates.push(update));
  return opened;
}

/** A clock that is ahead of another one. */
function shifted(clock: Clock, aheadMs: number): Clock {
  return {
    now: () => clock.now() + aheadMs,
    monotonic: () => clock.monotonic(),
    sleep: (ms, untilSignal) => clock.sleep(ms, untilSignal),
    setTimer: (ms, callback) => clock.setTimer(ms, callback),
  };
}
