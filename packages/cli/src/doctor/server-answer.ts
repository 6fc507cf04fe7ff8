import { releaseOf } from "@virtual-kubelet/core";

/** Answer of the API server to a request for its version. */
export interface ServerAnswer {
  readonly status: number;
  /** Header `Date`; `undefined` if it is missing. */
  readonly date: string | undefined;
  /** Times of this machine's clock just before and after, in milliseconds since the epoch. */
  readonly sentMs: number;
  readonly receivedMs: number;
  /** Body as text. */
  readonly text: string;
}

/** Milliseconds that this machine's clock is ahead of the API server's; `undefined` if the answer does not tell the time. */
export function skewOf({ date, sentMs, receivedMs }: Pick<ServerAnswer, "date" | "sentMs" | "receivedMs">): number | undefined {
  const serverMs = Date.parse(date ?? "");
  // The header is cut off to whole seconds.
  return Number.isNaN(serverMs) ? undefined : (sentMs + receivedMs) / 2 - (serverMs + 500);
}

/** Why an answer is not that of a working API server. */
export interface AnswerProblem {
  readonly kind: "unavailable" | "stranger";
}

/** Returns `undefined` for a working API server, also if it refuses the credentials, because only an API server does that. */
export function answerProblem({ status, text }: Pick<ServerAnswer, "status" | "text">): AnswerProblem | undefined {
  if (status === 200 && releaseIn(text) !== undefined) return undefined;
  if (isRefusal({ status, text })) return undefined;
  return { kind: status >= 500 ? "unavailable" : "stranger" };
}

/** Whether an API server refuses the credentials. */
export function isRefusal({ status, text }: Pick<ServerAnswer, "status" | "text">): boolean {
  return (status === 401 || status === 403) && Object(parsed(text) as object).kind === "Status";
}

/** Release in the answer, such as `v1.36.3`; `undefined` if there is none. */
export function releaseIn(text: string): string | undefined {
  return releaseOf(parsed(text));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
