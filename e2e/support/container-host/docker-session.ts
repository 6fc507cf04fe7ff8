import { Transform, type Duplex } from "node:stream";
import { z } from "zod";
import type { DockerEngine, EngineRequest } from "../../../providers/docker/src/engine/docker-engine.ts";
import { FrameDecoder } from "../../../providers/docker/src/engine/frame-decoder.ts";
import type { HostSession, HostTerminalSize } from "./container-host.ts";
import { pairStreams } from "./pair-streams.ts";

const stateSchema = z.object({ Running: z.boolean(), ExitCode: z.number().nullish() });

/** Interval in milliseconds between two looks at a command whose output has ended. */
const lookMs = 20;

/** What a session belongs to: a command, or a container. */
export type SessionOwner =
  | { readonly execId: string; readonly isRaw: boolean }
  | { readonly containerId: string; readonly isRaw: boolean; readonly exitCode: Promise<number> };

/** Sends a request with an upgrade and returns its streams. @param owner - `isRaw`: output comes from a terminal, without frames */
export async function openDockerSession(
  engine: DockerEngine,
  request: EngineRequest,
  owner: SessionOwner,
  signal: AbortSignal,
): Promise<HostSession> {
  const connection = await engine.upgrade(request, signal);
  const outputEnded = Promise.withResolvers<void>();
  const stream = owner.isRaw ? connection : unframed(connection);
  stream.on("error", () => {});
  for (const event of ["end", "close"] as const) stream.once(event, () => outputEnded.resolve());
  const path = "execId" in owner ? `/exec/${owner.execId}/resize` : `/containers/${owner.containerId}/resize`;
  return {
    stream,
    exitCode: "execId" in owner ? outputEnded.promise.then(() => exitCodeOf(engine, owner.execId, signal)) : owner.exitCode,
    async resize({ rows, columns }: HostTerminalSize) {
      await engine.json({ method: "POST", path, query: { h: rows, w: columns } }, signal);
    },
    close: () => void connection.destroy(),
  };
}

/** The engine records a command's end a moment after its output has ended. */
async function exitCodeOf(engine: DockerEngine, execId: string, signal: AbortSignal): Promise<number> {
  for (;;) {
    const { Running, ExitCode } = stateSchema.parse(await engine.json({ method: "GET", path: `/exec/${execId}/json` }, signal));
    if (!Running && ExitCode != null) return ExitCode;
    await engine.clock.sleep(lookMs, signal);
  }
}

/** Merges the frames of standard output and standard error; passes input through. */
function unframed(connection: Duplex): Duplex {
  const decoder = new FrameDecoder();
  const merged = connection.pipe(
    new Transform({
      transform(chunk: Buffer, _encoding, callback) {
        try {
          callback(null, Buffer.concat(decoder.push(chunk).map(({ bytes }) => bytes)));
        } catch (error) {
          callback(error instanceof Error ? error : new Error(String(error)));
        }
      },
    }),
  );
  connection.on("error", () => void merged.end());
  return pairStreams(merged, connection, () => void connection.destroy());
}
