import type { ContainerRun } from "../../support/container-host/container-host.ts";

/** An event as the API writes it. */
export interface EventView {
  readonly count: number;
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
  readonly name: string;
  readonly message: string;
  readonly type: "Normal" | "Warning";
}

/** One occurrence of an event. */
export interface Occurrence {
  readonly atMs: number;
  readonly name: string;
  readonly message: string;
  readonly type?: "Normal" | "Warning" | undefined;
}

/** RFC 3339 in seconds, as the service writes times. */
export function serviceTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

/** Counts occurrences of the same event, in the order of their first occurrence. */
export function toEvents(occurrences: readonly Occurrence[]): EventView[] {
  const groups = Map.groupBy(
    occurrences.toSorted((a, b) => a.atMs - b.atMs),
    ({ name, message }) => JSON.stringify([name, message]),
  );
  return [...groups.values()].flatMap((same) => {
    const [first, last] = [same[0], same.at(-1)];
    if (first === undefined || last === undefined) return [];
    const { name, message, type = "Normal" } = first;
    return [{ count: same.length, firstTimestamp: serviceTime(first.atMs), lastTimestamp: serviceTime(last.atMs), name, message, type }];
  });
}

/** Events of a run. Names and messages: examples of the API's documentation. */
export function occurrencesOf({ history, spec }: ContainerRun): Occurrence[] {
  return history.flatMap((state): Occurrence[] => {
    switch (state.kind) {
      case "pulling":
        return [{ atMs: state.sinceMs, name: "Pulling", message: `pulling image "${spec.image}"` }];
      case "starting":
        return [{ atMs: state.sinceMs, name: "Pulled", message: `Successfully pulled image "${spec.image}"` }];
      case "running":
        return [{ atMs: state.startedAtMs, name: "Started", message: "Started container" }];
      case "refused":
        return [
          {
            atMs: state.endedAtMs,
            name: "Failed",
            message: state.why === "image" ? `Failed to pull image "${spec.image}": ${state.message}` : `Error: ${state.message}`,
            type: "Warning",
          },
        ];
      case "exited":
        return [];
    }
  });
}
