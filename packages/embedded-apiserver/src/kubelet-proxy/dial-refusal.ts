import { plainFailure } from "../errors/api-status-error.ts";
import { goErrorText } from "../outbound/go-error.ts";
import { failure } from "../http/respond.ts";

/**
 * Response to an upgrade request that the back end does not answer with an upgrade; shaped like streaming's `UpgradeRefusal`.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/util/proxy/upgradeaware.go, `tryUpgrade`.
 *
 * @param error - of streaming, whose cause is the error of Node.js
 */
export function dialRefusal(error: unknown): { readonly statusCode: number; readonly text: string; readonly contentType: string } {
  const { status, body } = failure(plainFailure(problemOf(error)));
  return { statusCode: status, text: Buffer.from(body as Uint8Array).toString(), contentType: "application/json" };
}

/** Only problems of the connection have the prefix; those of the response come after it was made. */
function problemOf(error: unknown): string {
  const text = goErrorText(error instanceof Error ? (error.cause ?? error) : error);
  if (text.startsWith("invalid upgrade response")) return text;
  return text === "EOF" ? "unexpected EOF" : `error dialing backend: ${text}`;
}
