import { z } from "zod";
import type { DockerEngine } from "../engine/docker-engine.ts";

/** Facts about a container for exec, logs, port-forward and figures. */
export interface InspectedContainer {
  readonly id: string;
  readonly isRunning: boolean;
  /** Process id on the engine's host; 0 if it does not run. */
  readonly pid: number;
  readonly tty: boolean;
  readonly openStdin: boolean;
  readonly networkMode: string;
  readonly startedAt: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Folder of its writable layer on the engine's host; empty with some storage drivers. */
  readonly layerFolder: string;
  /** File of its log on the engine's host; empty with some log drivers. */
  readonly logPath: string;
}

const schema = z.object({
  Id: z.string(),
  State: z.object({ Running: z.boolean(), Pid: z.number().default(0), StartedAt: z.string().default("") }),
  Config: z.object({
    Tty: z.boolean().default(false),
    OpenStdin: z.boolean().default(false),
    Labels: z.record(z.string(), z.string()).nullish(),
  }),
  HostConfig: z.object({ NetworkMode: z.string().default("") }),
  LogPath: z.string().default(""),
  GraphDriver: z.object({ Data: z.object({ UpperDir: z.string().default("") }).nullish() }).nullish(),
});

/** Inspects a container. @throws NotFoundError, UnavailableError */
export async function inspectContainer(engine: DockerEngine, id: string, signal: AbortSignal): Promise<InspectedContainer> {
  const answer = await engine.json({ method: "GET", path: `/containers/${encodeURIComponent(id)}/json` }, signal);
  return read(schema.parse(answer));
}

/** Parses an inspection; `undefined` if it lacks a field. */
export function tryInspected(answer: unknown): InspectedContainer | undefined {
  const parsed = schema.safeParse(answer);
  return parsed.success ? read(parsed.data) : undefined;
}

function read({ Id, State, Config, HostConfig, LogPath, GraphDriver }: z.infer<typeof schema>): InspectedContainer {
  return {
    id: Id,
    isRunning: State.Running,
    pid: State.Pid,
    tty: Config.Tty,
    openStdin: Config.OpenStdin,
    networkMode: HostConfig.NetworkMode,
    startedAt: State.StartedAt,
    labels: Config.Labels ?? {},
    layerFolder: GraphDriver?.Data?.UpperDir ?? "",
    logPath: LogPath,
  };
}
