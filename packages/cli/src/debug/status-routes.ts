import { Refusal } from "@virtual-kubelet/kubelet-api";
import type { SmallAnswer, SmallRequest } from "../http/small-server.ts";
import { takeStatus, type StatusQuery, type StatusSource } from "./status-document.ts";

/** Path of the snapshot. */
export const statusPath = "/status";

/** Maximum number of pods of a node in one answer. With 10,000 pods on the node an answer takes some 15 ms, and 0.1 ms for each pod in it. */
const maxPods = 500;

const defaultPods = 200;

/**
 * Answers a request for the program's state: `GET /status?node=&namespace=&pod=&problems=true&limit=&continue=`.
 *
 * @throws Refusal 400 for a malformed parameter, 404 for another path
 */
export function answerStatus(source: StatusSource, { path, query }: Pick<SmallRequest, "path" | "query">): SmallAnswer {
  if (path !== statusPath) throw new Refusal(404, "404: Not Found");
  const document = takeStatus(source, parseStatusQuery(query));
  return {
    status: 200,
    type: "application/json",
    body: `${JSON.stringify(document, wholeNumbers)}\n`,
    headers: { "cache-control": "no-store" },
  };
}

/** Fractions of a millisecond mean nothing to anybody. */
function wholeNumbers(_key: string, value: unknown): unknown {
  return typeof value === "number" ? Math.round(value) : value;
}

function parseStatusQuery({ first, all }: SmallRequest["query"]): StatusQuery {
  const problems = first("problems") ?? "false";
  if (problems !== "true" && problems !== "false") throw badRequest("problems", problems, "true or false");
  return {
    nodes: all("node"),
    namespace: first("namespace"),
    name: first("pod"),
    problemsOnly: problems === "true",
    limit: limitOf(first("limit") ?? String(defaultPods)),
    continue: first("continue"),
  };
}

function limitOf(text: string): number {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : Infinity;
  if (limit > maxPods) throw badRequest("limit", text, `a number from 0 to ${maxPods}`);
  return limit;
}

function badRequest(name: string, value: string, expectation: string): Refusal {
  return new Refusal(400, `400: Bad Request: ${name}: ${JSON.stringify(value)}: expected ${expectation}`);
}
