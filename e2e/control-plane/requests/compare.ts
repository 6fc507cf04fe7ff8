import { isDeepStrictEqual } from "node:util";
import { eventually } from "@virtual-kubelet/testing";
import { request as httpsRequest, type Agent } from "node:https";
import type { ComparedRequest, RequestGroup, Wait } from "./request.ts";

/** A server and how to reach it. */
export interface ComparedServer {
  /** Such as `https://127.0.0.1:6443`. */
  readonly url: string;
  /** Of the administrator. */
  readonly agent: Agent;
  readonly anonymousAgent: Agent;
  readonly token?: string;
}

/** An answer without what differs between two runs of one server. */
interface ComparableAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly warnings: readonly string[];
  /** Parsed JSON, or text. */
  readonly body: unknown;
}

/** Answers of two servers to one request. */
export interface Comparison {
  /** Unique: group, method, path, and a number if the same request occurs again. */
  readonly name: string;
  readonly request: ComparedRequest;
  readonly answers: readonly [ComparableAnswer, ComparableAnswer];
  readonly isIdentical: boolean;
}

/** Sends the groups to both servers, one request after the other. */
export async function compareServers(
  servers: readonly [ComparedServer, ComparedServer],
  groups: readonly RequestGroup[],
): Promise<readonly Comparison[]> {
  const comparisons: Comparison[] = [];
  const seen = new Map<string, number>();
  for (const [index, group] of groups.entries()) {
    const namespace = `compare-${String(index)}`;
    for (const server of servers) await openNamespace(server, namespace);
    for (const step of group.steps) {
      if ("wait" in step) {
        for (const server of servers) await waitFor(server, step, namespace);
        continue;
      }
      const title = `${group.name}: ${step.method} ${step.path}`;
      const count = (seen.get(title) ?? 0) + 1;
      seen.set(title, count);
      const answers = [comparable(await send(servers[0], step, namespace)), comparable(await send(servers[1], step, namespace))] as const;
      comparisons.push({
        name: count === 1 ? title : `${title} (${String(count)})`,
        request: step,
        answers,
        isIdentical: isDeepStrictEqual(answers[0], answers[1]),
      });
    }
  }
  return comparisons;
}

/** Watches of the comparison end after a second. */
const answerTimeoutMs = 20_000;

interface RawAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly warnings: readonly string[];
  readonly text: string;
}

function send(server: ComparedServer, step: ComparedRequest, namespace: string): Promise<RawAnswer> {
  const fill = (text: string): string => text.replaceAll("{ns}", namespace);
  const { body, method, path, anonymous = false, headers = {} } = step;
  const text = body === undefined ? undefined : fill(typeof body === "string" ? body : JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      new URL(fill(path), server.url),
      {
        method,
        agent: anonymous ? server.anonymousAgent : server.agent,
        headers: {
          ...(server.token === undefined || anonymous ? {} : { authorization: `Bearer ${server.token}` }),
          ...(text === undefined ? {} : { "content-type": "application/json", "content-length": String(Buffer.byteLength(text)) }),
          ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value)])),
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const warning = response.headers["warning"];
          resolve({
            status: response.statusCode ?? 0,
            contentType: response.headers["content-type"] ?? "",
            warnings: warning === undefined ? [] : warning.split(/, (?=299 )/),
            text: Buffer.concat(chunks).toString("latin1"),
          });
        });
      },
    );
    request.on("error", (error) => resolve({ status: 0, contentType: "", warnings: [], text: error.message }));
    request.setTimeout(answerTimeoutMs, () => {
      request.destroy(new Error(`${method} ${path} at ${server.url}: no answer after ${String(answerTimeoutMs)} ms`));
    });
    request.end(text);
  });
}

async function openNamespace(server: ComparedServer, name: string): Promise<void> {
  const { status, text } = await send(server, { method: "POST", path: "/api/v1/namespaces", body: { metadata: { name } } }, name);
  if (status !== 201) throw new Error(`create namespace ${name} at ${server.url}: ${String(status)} ${text}`);
}

async function waitFor(server: ComparedServer, { wait, status = 200, when }: Wait, namespace: string): Promise<void> {
  await eventually(
    async () => {
      const answer = await send(server, wait, namespace);
      const isThere = answer.status === status && (when === undefined || when(JSON.parse(answer.text) as Record<string, unknown>));
      if (!isThere) throw new Error(`${wait.method} ${wait.path} at ${server.url}: ${String(answer.status)} ${answer.text.slice(0, 300)}`);
    },
    { timeoutMs: 30_000 },
  );
}

const uid = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g;
const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;

/** Replaces uids, times, resource versions, random suffixes of names, ports, addresses and keys. */
function comparable({ status, contentType, warnings, text }: RawAnswer): ComparableAnswer {
  const plain = text
    .replace(uid, "<uid>")
    .replace(time, (found) => (found.startsWith("2024-01-01") ? found : "<time>"))
    .replace(/(resourceVersion\\*"?: ?\\*")\d+/g, "$1<version>")
    .replace(/(resourceVersion: ")\d+/g, "$1<version>")
    .replace(/(in record \()\d+/g, "$1<version>")
    .replace(/(Too large resource version|the provided resource version|at resource version)[^"]*\d+/g, "$1 <version>")
    .replace(/("(?:name|selfLink)":"gen-)[a-z0-9]{5}/g, "$1<suffix>")
    .replace(/(127\.0\.0\.1|localhost):\d+/g, "$1:<port>")
    .replace(/("serverAddress":"|"jwks_uri":"https:\/\/)[^"/]+/g, "$1<address>")
    .replace(/("(?:kid|x|y)":")[\w-]{43}"/g, '$1<key>"')
    .replace(/"\d+s"/g, '"<age>"')
    .replace(/^( *- )\d+s$/gm, "$1<age>")
    .replace(/("hash":"|\?hash=)[0-9A-F]+/g, "$1<hash>");
  const body = parsed(contentType.endsWith("protobuf") ? withoutNumbers(plain) : plain);
  return { status, contentType, warnings, body: withSortedCauses(withSortedManagers(body)) };
}

/** The real server reports several problems of a map in a random order. */
function withSortedCauses(body: unknown): unknown {
  const { kind, message, details } = (body ?? {}) as { kind?: unknown; message?: unknown; details?: { causes?: readonly unknown[] } };
  if (kind !== "Status" || typeof message !== "string" || (details?.causes ?? []).length < 2) return body;
  const causes = (details?.causes ?? []).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  const problems = message.split(/, |: \[|\]$/).toSorted();
  return { ...(body as object), message: problems, details: { ...details, causes } };
}

/** The servers order managers by time, and a second may pass between two requests to one of them. */
function withSortedManagers(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withSortedManagers);
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      key === "managedFields" && Array.isArray(member)
        ? member.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
        : withSortedManagers(member),
    ]),
  );
}

/** Hides strings of digits, which are resource versions, in protobuf: a byte with the length, and the digits. */
function withoutNumbers(text: string): string {
  // oxlint-disable-next-line eslint/no-control-regex -- the bytes of protobuf
  return text.replace(/([\u0001-\u0009])(\d+)/g, (found, length: string, digits: string) => {
    const count = length.charCodeAt(0);
    return digits.length < count ? found : `${length}${"#".repeat(count)}${digits.slice(count)}`;
  });
}

/** JSON, lines of JSON, or text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const lines = text.split("\n").filter(Boolean);
    if (!lines.every((line) => line.startsWith("{") && line.endsWith("}"))) return text;
    try {
      return lines.map((line) => JSON.parse(line) as unknown);
    } catch {
      return text;
    }
  }
}

/** Lengths of what is shown of two answers: before the first difference, and in all. */
const shown = { before: 50, all: 300 };

/** The request and the first difference of its answers. */
export function differenceText({ name, request, answers }: Comparison): string {
  const [real, embedded] = answers.map(({ status, contentType, warnings, body }) =>
    JSON.stringify([status, contentType, warnings, body]),
  ) as [string, string];
  let index = 0;
  while (index < real.length && real[index] === embedded[index]) index++;
  const from = Math.max(0, index - shown.before);
  const part = (text: string): string => text.slice(from, from + shown.all);
  const body = request.body === undefined ? "" : ` ${JSON.stringify(request.body).slice(0, shown.all)}`;
  return `- ${name}${body}\n  - real: ${String(answers[0].status)} ${part(real)}\n  - embedded: ${String(answers[1].status)} ${part(embedded)}`;
}
