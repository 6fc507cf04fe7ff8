import { withDeadline } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import { messageOf } from "@virtual-kubelet/errdefs";
import { open } from "node:fs/promises";
import { request, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { z } from "zod";
import { valueAt } from "../config/layers.ts";
import { statusVersion, type StatusDocument, type StatusQuery } from "../debug/status-document.ts";
import { statusPath } from "../debug/status-routes.ts";
import { exitCodes } from "../exit-codes.ts";
import { hasErrorCode, socketPath } from "../nodes/socket-folder.ts";
import { ProgramError } from "../program-error.ts";
import { accessError, type FoundSocket } from "./find-programs.ts";

/** Time within which a program answers. One that does not is stopped, or its event loop hangs. */
const answerMs = 10_000;

/** Maximum size of an answer. Nothing but a fault makes one as large. */
const maxAnswerBytes = 64 * 1024 * 1024;

/**
 * Reads a program's state from its socket.
 *
 * @returns `undefined` if the program has ended
 * @throws ProgramError if the socket cannot be opened, the program does not answer, or it is of a version that this one does not understand
 */
export async function readStatus(
  socket: FoundSocket,
  query: StatusQuery,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<StatusDocument | undefined> {
  const shown = join(socket.directory, socket.name);
  try {
    const what = `read the state of the program at ${shown}`;
    return parse(shown, await withDeadline({ clock, timeoutMs: answerMs, what }, signal, (inner) => get(socket, query, inner)));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ProgramError) throw error;
    // A program that ends resets its connections.
    if (hasErrorCode(error, "ECONNREFUSED", "ENOENT", "ECONNRESET")) return undefined;
    if (hasErrorCode(error, "EACCES", "EPERM")) throw accessError(shown, error);
    throw new ProgramError(`status: ${messageOf(error)}; is the program stopped or very busy?`, exitCodes.failure.code, { cause: error });
  }
}

const texts = (...names: readonly string[]): z.ZodObject => z.looseObject(Object.fromEntries(names.map((name) => [name, z.string()])));

/** The parts of a document that are shown. */
const shownParts = z.looseObject({
  version: z.literal(statusVersion),
  program: z.looseObject({ pid: z.number(), shown: z.string() }),
  nodes: z.array(
    z.looseObject({
      name: z.string(),
      isReady: z.boolean(),
      problems: z.array(z.string()),
      matching: z.number(),
      continue: z.string().optional(),
      shown: z.looseObject({ state: z.string(), figures: z.array(texts("label", "text")) }),
      pods: z.array(
        texts("namespace", "name", "uid").extend({
          isStatusWritten: z.boolean(),
          problem: z.string().optional(),
          shown: texts("phase", "backEnd", "next", "doing"),
        }),
      ),
    }),
  ),
});

/** The query of a request. */
function statusUrl({ nodes, namespace, name, problemsOnly, limit, continue: from }: StatusQuery): string {
  const query = new URLSearchParams({ limit: String(limit) });
  for (const node of nodes) query.append("node", node);
  if (namespace !== undefined) query.set("namespace", namespace);
  if (name !== undefined) query.set("pod", name);
  if (problemsOnly) query.set("problems", "true");
  if (from !== undefined) query.set("continue", from);
  return `${statusPath}?${query.toString()}`;
}

interface Response {
  readonly status: number;
  readonly text: string;
}

async function get({ directory, name }: FoundSocket, query: StatusQuery, signal: AbortSignal): Promise<Response> {
  await using handle = await open(directory);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const path = socketPath({ directory, handle }, name);
  request({ socketPath: path, path: statusUrl(query), headers: { host: "localhost" }, signal, agent: false }, resolve)
    .on("error", reject)
    .end();
  const response = await promise;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxAnswerBytes) throw new Error(`the answer is larger than ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") };
}

function parse(path: string, { status, text }: Response): StatusDocument {
  const document = tryJson(text);
  // What is shown is checked; the rest is passed on as it is.
  if (status === 200 && shownParts.safeParse(document).success) return document as StatusDocument;
  const version = valueAt(document, ["version"]);
  const what =
    typeof version === "number" && version !== statusVersion
      ? `version ${version} of the state, and this program understands version ${statusVersion}`
      : `status ${status}: ${JSON.stringify(text.trim().slice(0, 200))}`;
  throw new ProgramError(
    `status: the program at ${path} is of another version than this one: it answers with ${what}; use the virtual-kubelet that runs there`,
    exitCodes.failure.code,
  );
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
