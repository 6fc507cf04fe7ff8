import { parseQuery } from "../server/query.ts";
import { Refusal } from "../server/refusal.ts";

/** Query of exec and attach. */
export interface RemoteCommandQuery {
  readonly stdin: boolean;
  readonly stdout: boolean;
  /** Ignored with {@link tty}, because a terminal has a single output. */
  readonly stderr: boolean;
  readonly tty: boolean;
  /** Arguments, starting with the program; empty for attach. */
  readonly command: readonly string[];
}

/**
 * Parses the query of exec and attach. Only the value `1` means true.
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
