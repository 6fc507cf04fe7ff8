import { Writable } from "node:stream";
import type {
  AttachIO,
  Clock,
  Container,
  DeepReadonly,
  Logger,
  Pod,
  PodEvent,
  PodRef,
  ProviderPodStatus,
  Random,
} from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { BackgroundWork } from "@virtual-kubelet/remote-pods";
import { execInTask } from "../access/exec.ts";
import type { NomadClient } from "../api/nomad-client.ts";
import type { PodEntry } from "../pods/pod-entry.ts";

export interface ContainerHooksOptions {
  readonly clientOf: (ref: PodRef) => NomadClient;
  readonly clock: Clock;
  readonly random: Pick<Random, "uuid">;
  readonly logger: Logger;
  readonly background: BackgroundWork;
  /** The pod as the cluster has it: hooks are not kept in Nomad. */
  readonly findPod: (ref: PodRef) => DeepReadonly<Pod> | undefined;
  readonly recordEvent: (pod: PodRef, event: PodEvent) => void;
  /** Called when a postStart hook has ended. */
  readonly onChange: (entry: PodEntry) => void;
}

type HookName = "postStart" | "preStop";
type Hook = NonNullable<NonNullable<DeepReadonly<Container>["lifecycle"]>[HookName]>;

/** The preStop hooks of a pod that is ending. */
interface Stopping {
  readonly abort: AbortController;
  readonly done: Promise<void>;
  timer: Disposable | undefined;
}

const failures = { postStart: "FailedPostStartHook", preStop: "FailedPreStopHook" } as const;

/**
 * Runs the postStart and preStop hooks of containers, which Nomad does not know, as commands in their tasks.
 * Source: kubernetes v1.36.3 pkg/kubelet/kuberuntime/kuberuntime_container.go.
 */
export class ContainerHooks {
  readonly #options: ContainerHooksOptions;
  /** Instance whose postStart hook has started, by pod and container. */
  readonly #started = new Map<string, Map<string, string>>();
  /** Containers whose postStart hook is running, by pod. */
  readonly #running = new Map<string, Set<string>>();
  readonly #stopping = new Map<string, Stopping>();

  constructor(options: ContainerHooksOptions) {
    this.#options = options;
  }

  /** Registers a pod that is about to be created, so that the hooks of its first instances run. */
  begin(uid: string): void {
    if (!this.#started.has(uid)) this.#started.set(uid, new Map());
  }

  /**
   * Runs the postStart hooks of containers that have started. The hooks of a pod found after a restart of this
   * program count as run for its running containers.
   */
  watch(entry: PodEntry): void {
    const { ref } = entry.shape;
    const isFound = !this.#started.has(ref.uid);
    this.begin(ref.uid);
    const started = this.#started.get(ref.uid);
    for (const [name, { State, StartedAt }] of Object.entries(entry.allocation?.TaskStates ?? {})) {
      const instance = `${entry.allocation?.ID} ${StartedAt}`;
      if (State !== "running" || !StartedAt || started?.get(name) === instance) continue;
      started?.set(name, instance);
      const hook = isFound || entry.ending ? undefined : this.#hookOf(ref, name, "postStart");
      if (hook) this.#runPostStart(entry, { name, instance, hook });
      // The hook of the previous instance may still be running.
      else this.#running.get(ref.uid)?.delete(name);
    }
  }

  /** Returns the status with no container ready before its postStart hook has ended. */
  applyTo(status: ProviderPodStatus, { shape }: PodEntry): ProviderPodStatus {
    const running = this.#running.get(shape.ref.uid);
    if (!running?.size) return status;
    const wait = <T extends { readonly name: string }>(each: T): T =>
      running.has(each.name) ? { ...each, ready: false, started: false } : each;
    return {
      ...status,
      containerStatuses: status.containerStatuses?.map(wait),
      ...(status.initContainerStatuses && { initContainerStatuses: status.initContainerStatuses.map(wait) }),
    };
  }

  /** Whether a container that runs has a preStop hook. */
  hasPreStop({ shape, allocation }: PodEntry): boolean {
    return Object.entries(allocation?.TaskStates ?? {}).some(
      ([name, { State }]) => State === "running" && this.#hookOf(shape.ref, name, "preStop") !== undefined,
    );
  }

  /**
   * Runs the preStop hooks of all containers that run, at once, and no hook twice. Never rejects because of a hook.
   *
   * @param deadlineMs - time at which the hooks are aborted, on the monotonic clock; a later call may set an earlier one
   */
  preStop(entry: PodEntry, deadlineMs: number): Promise<void> {
    const { clock, background } = this.#options;
    const { ref } = entry.shape;
    let stopping = this.#stopping.get(ref.uid);
    if (!stopping) {
      const abort = new AbortController();
      const signal = AbortSignal.any([abort.signal, background.signal]);
      const running = Object.entries(entry.allocation?.TaskStates ?? {}).filter(([, { State }]) => State === "running");
      const hooks = running.map(async ([name]) => {
        const hook = this.#hookOf(ref, name, "preStop");
        if (hook) await this.#run(entry, { name, hook, kind: "preStop" }, signal);
      });
      stopping = { abort, done: Promise.all(hooks).then(() => this.#stopping.get(ref.uid)?.timer?.[Symbol.dispose]()), timer: undefined };
      this.#stopping.set(ref.uid, stopping);
    }
    const { abort } = stopping;
    stopping.timer?.[Symbol.dispose]();
    stopping.timer = clock.setTimer(Math.max(0, deadlineMs - clock.monotonic()), () => abort.abort(new Error("the grace period is over")));
    return stopping.done;
  }

  /** The pod is gone. */
  forget(uid: string): void {
    this.#started.delete(uid);
    this.#running.delete(uid);
    this.#stopping.get(uid)?.timer?.[Symbol.dispose]();
    this.#stopping.get(uid)?.abort.abort(new Error("the pod is gone"));
    this.#stopping.delete(uid);
  }

  /** Frees all timers. */
  [Symbol.dispose](): void {
    for (const uid of [...this.#stopping.keys()]) this.forget(uid);
  }

  #hookOf(ref: PodRef, name: string, kind: HookName): Hook | undefined {
    const { spec } = this.#options.findPod(ref) ?? {};
    return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].find((each) => each.name === name)?.lifecycle?.[kind];
  }

  #runPostStart(
    entry: PodEntry,
    { name, instance, hook }: { readonly name: string; readonly instance: string; readonly hook: Hook },
  ): void {
    const { background, clientOf, onChange } = this.#options;
    const { ref } = entry.shape;
    const running = this.#running.get(ref.uid) ?? new Set();
    this.#running.set(ref.uid, running.add(name));
    background.run(`postStart ${instance}/${name}`, async (signal) => {
      const allocation = entry.allocation?.ID ?? "";
      const isGood = await this.#run(entry, { name, hook, kind: "postStart" }, signal);
      // A newer instance has its own hook, and must not be killed.
      if (this.#started.get(ref.uid)?.get(name) !== instance) return;
      running.delete(name);
      onChange(entry);
      // As with a kubelet, its restart policy starts the killed container again. It may have ended meanwhile.
      if (!isGood && !entry.ending)
        await clientOf(ref)
          .signalTask(allocation, name, "SIGKILL", signal)
          .catch(() => signal.throwIfAborted());
    });
  }

  /** @returns whether it succeeded. @throws when the program ends */
  async #run(
    entry: PodEntry,
    { name, hook, kind }: { readonly name: string; readonly hook: Hook; readonly kind: HookName },
    signal: AbortSignal,
  ): Promise<boolean> {
    const { clock, random, logger, recordEvent, background } = this.#options;
    const { ref } = entry.shape;
    let problem: string;
    try {
      if (hook.sleep) await clock.sleep(hook.sleep.seconds * 1000, signal);
      if (!hook.exec) return true;
      const command = hook.exec.command ?? [];
      const exec = { client: this.#options.clientOf(ref), clock, random, entry, container: name, command, io: silentIO() };
      const { exitCode } = await execInTask(exec, signal);
      if (exitCode === 0) return true;
      problem = `the command exited with ${exitCode}`;
    } catch (error) {
      background.signal.throwIfAborted();
      problem = messageOf(error);
    }
    logger.debug({ pod: `${ref.namespace}/${ref.name}`, container: name, hook: kind, problem }, "a hook failed");
    const hookName = kind === "postStart" ? "PostStartHook" : "PreStopHook";
    recordEvent(ref, { type: "Warning", reason: failures[kind], message: `${hookName} failed: ${problem}`, container: name });
    return false;
  }
}

/** No input; the output is dropped, because it may hold secrets that must not appear in an event. */
function silentIO(): AttachIO {
  const sink = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() });
  return { stdin: undefined, stdout: sink(), stderr: sink(), tty: false, resizes: noSizes() };
}

async function* noSizes(): AsyncGenerator<never> {}
