import type { Clock } from "@virtual-kubelet/clock";
import {
  hasEnded,
  type ContainerGroup,
  type ContainerRun,
  type RunEnd,
  type RunSpec,
} from "../../support/container-host/container-host.ts";
import { occurrencesOf, serviceTime, toEvents, type EventView, type Occurrence } from "./container-events.ts";
import type { ContainerBody, GroupProperties } from "./container-group-body.ts";

/** Instance view of a container as the API writes it. */
export interface ContainerInstanceView {
  readonly restartCount: number;
  readonly currentState: StateView;
  readonly previousState?: StateView | undefined;
  readonly events: readonly EventView[];
}

/** State of a container as the API writes it. */
interface StateView {
  readonly state: "Waiting" | "Running" | "Terminated";
  readonly startTime?: string | undefined;
  readonly exitCode?: number | undefined;
  readonly finishTime?: string | undefined;
  readonly detailStatus: string;
}

/** Exit code of a container that could not be started. Source: containerd's `StartError`. */
const startErrorCode = 128;
const bytesPerGB = 1e9;

/** A container of a group: its runs, and how its restarts are counted. */
export class FakeContainer {
  readonly body: ContainerBody;
  readonly runs: ContainerRun[] = [];
  /** Restarts that a test adds, such as those between two looks. */
  extraRestarts = 0;
  /** Events besides those of the runs. */
  readonly occurrences: Occurrence[] = [];
  /** Whether it waits for its next run. */
  isBackingOff = false;
  readonly #clock: Clock;

  constructor(body: ContainerBody, clock: Clock) {
    this.body = body;
    this.#clock = clock;
  }

  get name(): string {
    return this.body.name;
  }

  get last(): ContainerRun | undefined {
    return this.runs.at(-1);
  }

  get restartCount(): number {
    return Math.max(0, this.runs.length - 1) + this.extraRestarts;
  }

  /** Whether the last run has ended and no other follows. */
  get isOver(): boolean {
    return this.last !== undefined && hasEnded(this.last.state) && !this.isBackingOff;
  }

  /** Starts the next run in a group of the host. */
  run(group: ContainerGroup, properties: GroupProperties): ContainerRun {
    const run = group.run(runSpecOf(this.body, properties, this.runs.length));
    this.runs.push(run);
    this.isBackingOff = false;
    return run;
  }

  /** Notes an event that happens now. */
  note(name: string, message: string, type: "Normal" | "Warning" = "Normal"): void {
    this.occurrences.push({ atMs: this.#clock.now(), name, message, type });
  }

  /** Exit code of the last run; `undefined` if it has not ended. */
  get exitCode(): number | undefined {
    const state = this.last?.state;
    return state && hasEnded(state) ? exitCodeOf(state) : undefined;
  }

  view(): ContainerInstanceView {
    const { last } = this;
    const before = this.isBackingOff ? last : this.runs.at(-2);
    const previous = before && hasEnded(before.state) ? terminated(before.state) : undefined;
    return {
      restartCount: this.restartCount,
      currentState: this.isBackingOff || last === undefined ? waiting(this.isBackingOff, last) : current(last),
      ...(previous && { previousState: previous }),
      events: toEvents([...this.runs.flatMap(occurrencesOf), ...this.occurrences]),
    };
  }
}

/** Exit code that the API shows for an end. */
function exitCodeOf(end: RunEnd): number {
  return end.kind === "exited" ? end.exitCode : startErrorCode;
}

function current(run: ContainerRun): StateView {
  const { state } = run;
  switch (state.kind) {
    case "pulling":
    case "starting":
      return { state: "Waiting", detailStatus: "" };
    case "running":
      return { state: "Running", startTime: serviceTime(state.startedAtMs), detailStatus: "" };
    case "exited":
    case "refused":
      return terminated(state);
  }
}

function waiting(isBackingOff: boolean, last: ContainerRun | undefined): StateView {
  if (!isBackingOff || last === undefined) return { state: "Waiting", detailStatus: "" };
  const isImage = last.state.kind === "refused" && last.state.why === "image";
  return {
    state: "Waiting",
    detailStatus: isImage ? "ImagePullBackOff: Back-off pulling image" : "CrashLoopBackOff: Back-off restarting failed container",
  };
}

function terminated(end: RunEnd): StateView {
  const exitCode = exitCodeOf(end);
  const isOutOfMemory = end.kind === "exited" && end.isOutOfMemory;
  const detailStatus = isOutOfMemory ? "OOMKilled" : end.kind === "refused" ? "StartError" : exitCode === 0 ? "Completed" : "Error";
  return {
    state: "Terminated",
    ...(end.kind === "exited" && { startTime: serviceTime(end.startedAtMs) }),
    exitCode,
    finishTime: serviceTime(end.endedAtMs),
    detailStatus,
  };
}

function runSpecOf({ name, properties }: ContainerBody, group: GroupProperties, attempt: number): RunSpec {
  const { image = "", command = [], environmentVariables = [], volumeMounts = [], resources, securityContext } = properties;
  const mounted = volumeMounts.map(({ name: volume, mountPath, readOnly }) => {
    const body = group.volumes?.find((each) => each.name === volume);
    // Files of secret and git volumes cannot be changed by containers.
    return { volume, path: mountPath, isReadOnly: readOnly === true || body?.secret !== undefined || body?.azureFile?.readOnly === true };
  });
  const { runAsUser, runAsGroup } = securityContext ?? {};
  return {
    name,
    attempt,
    image,
    ...(command.length > 0 && { entrypoint: command }),
    environment: Object.fromEntries(environmentVariables.map(({ name: key, value, secureValue }) => [key, value ?? secureValue ?? ""])),
    mounts: mounted,
    ...(runAsUser !== undefined && { user: runAsGroup === undefined ? String(runAsUser) : `${runAsUser}:${runAsGroup}` }),
    ...(resources && { memoryBytes: Math.round((resources.limits?.memoryInGB ?? resources.requests.memoryInGB) * bytesPerGB) }),
  };
}
