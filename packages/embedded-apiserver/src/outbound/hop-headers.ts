import type { IncomingHttpHeaders } from "node:http";

/** Headers of one connection; source: Go's net/http/httputil/reverseproxy.go, `hopHeaders`. */
const hopHeaders: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

type Headers = IncomingHttpHeaders | Readonly<Record<string, string | undefined>>;

/** Names of the headers that a proxy passes on: all but those of the connection, of HTTP/2, and those that `Connection` names. */
export function endToEndNames(headers: Headers): string[] {
  const listed = new Set((headers["connection"] ?? "").split(",").map((name) => name.trim().toLowerCase()));
  return Object.keys(headers).filter((name) => !name.startsWith(":") && !hopHeaders.has(name) && !listed.has(name));
}

/** A response's headers that a proxy passes on. */
export function passedAnswer(headers: IncomingHttpHeaders): {
  readonly headers: Record<string, string>;
  /** Values of `Set-Cookie`, which do not fit into one header. */
  readonly cookies?: readonly string[];
} {
  const { "set-cookie": cookies, ...others } = headers;
  const passed = endToEndNames(others).flatMap((name) => {
    const value = others[name];
    return value === undefined ? [] : [[name, asText([value].flat().join(", "))] as const];
  });
  return { headers: Object.fromEntries(passed), ...(cookies === undefined ? {} : { cookies: cookies.map(asText) }) };
}

/** Node.js reads a header's bytes as a character each. */
function asText(value: string): string {
  return Buffer.from(value, "latin1").toString("utf8");
}
