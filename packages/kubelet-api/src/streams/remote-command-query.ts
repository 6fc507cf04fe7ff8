import { parseQuery } from "../server/query.ts";
import { Refusal } from "../server/refusal.ts";

/** What the query of exec and attach says. */
export interface RemoteCommandQuery {
  readonly stdin: boolean;
  readonly stdout: boolean;
  /** Dropped with {@link tty}: a terminal has one output. */
  readonly stderr: boolean;
  readonly tty: boolean;
  /** The arguments, the program first; empty for attach. */
  readonly command: readonly string[];
}

/**
 * Reads the query of exec and attach. Only `1` is true.
 *
 * Source: kubernetes v1.36.3 k8s.io/cri-streaming remotecommand `NewOptions`.
 *
 * @throws Refusal 400
 */
export function parseRemoteCommandQuery(text: string): RemoteCommandQuery {
  const query = parseQuery(text);
  const flag = (name: string): boolean => query.first(name) === "1";
  const tty = flag("tty");
  const streams = { stdin: flag("input"), stdout: flag("output"), stderr: flag("error") && !tty };
  if (!streams.stdin && !streams.stdout && !streams.stderr) throw new Refusal(400, "you must specify at least 1 of stdin, stdout, stderr");
  return { ...streams, tty, command: query.all("command") };
}
