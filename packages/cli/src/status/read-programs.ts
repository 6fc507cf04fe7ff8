import { messageOf } from "@virtual-kubelet/errdefs";
import type { Context } from "../context.ts";
import type { NodeStatus, StatusDocument, StatusQuery } from "../debug/status-document.ts";
import { exitCodes } from "../exit-codes.ts";
import { lockHolder } from "../nodes/node-lock.ts";
import { ProgramError } from "../program-error.ts";
import { findSockets, type FoundSocket, type Search } from "./find-programs.ts";
import { readStatus } from "./read-status.ts";

/** Pods of a node in one request: few, so that a program is not held up, and its other work comes in between. */
const pageSize = 200;

/** Which pods are shown. */
export type PodFilter = Pick<StatusQuery, "namespace" | "name" | "problemsOnly">;

/** States of programs, and what went wrong with others. */
export interface ProgramsRead {
  /** One or more. */
  readonly documents: readonly StatusDocument[];
  readonly problems: readonly string[];
}

export interface ReadContext extends Pick<Context, "clock" | "signal" | "isRoot"> {
  /** Maximum number of pods of a node. */
  readonly maxShown: number;
}

/** Reads the states of all programs that a search finds. @throws ProgramError if it finds none, or none can be read */
export async function readPrograms(search: Search, filter: PodFilter, context: ReadContext): Promise<ProgramsRead> {
  const sockets = await findSockets(search);
  const documents = new Map<number, StatusDocument>();
  const problems: ProgramError[] = [];
  for (const socket of sockets) {
    try {
      const document = await readWhole(
        socket,
        { ...filter, nodes: search.nodeNames, limit: Math.min(pageSize, context.maxShown) },
        context,
      );
      // A program of several nodes has several sockets, and each shows all of its nodes.
      if (document) documents.set(document.program.pid, document);
    } catch (error) {
      if (!(error instanceof ProgramError)) throw error;
      problems.push(error);
    }
  }
  if (documents.size > 0) return { documents: [...documents.values()], problems: problems.map(messageOf) };
  throw problems[0] ?? (await nothingFound(search, context));
}

/** Reads all pages, up to the number of pods to be shown. A pod that changes its place meanwhile may be missing; none is there twice. */
async function readWhole(socket: FoundSocket, query: StatusQuery, context: ReadContext): Promise<StatusDocument | undefined> {
  const first = await readStatus(socket, query, context);
  if (!first) return undefined;
  const nodes: NodeStatus[] = [];
  for (const node of first.nodes) {
    let whole = node;
    while (whole.continue !== undefined && whole.pods.length < context.maxShown) {
      const page = await readStatus(socket, { ...query, nodes: [node.name], continue: whole.continue }, context);
      const next = page?.nodes[0];
      if (!next) break;
      const known = new Set(whole.pods.map(({ uid }) => uid));
      whole = { ...whole, pods: [...whole.pods, ...next.pods.filter(({ uid }) => !known.has(uid))], continue: next.continue };
    }
    nodes.push(whole);
  }
  return { ...first, nodes };
}

async function nothingFound({ folders, nodeNames, place }: Search, { clock, isRoot }: ReadContext): Promise<ProgramError> {
  for (const { directory, nodeName } of folders) {
    if (nodeName === undefined) continue;
    const holder = await lockHolder({ directory, nodeName, clock });
    if (holder === undefined) continue;
    return new ProgramError(
      `status: process ${holder} runs node ${nodeName}, but there is no socket of it in ${directory}: ` +
        "it is an older version, or could not create its socket, as its log then says",
      exitCodes.failure.code,
    );
  }
  const what = nodeNames.length > 0 ? `node ${nodeNames.join(", ")}` : "a node";
  const root = isRoot ? "" : ", or as another user, such as root";
  return new ProgramError(
    `status: no program runs ${what} here: there is no socket of one in ${place}. ` +
      `Does it run with another --nodename, --config or --cert-dir${root}, or in a container (kubectl exec deploy/NAME -- virtual-kubelet status)?`,
    exitCodes.failure.code,
  );
}
