import type { Clock } from "@virtual-kubelet/clock";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { Duplex } from "node:stream";
import { endWith, type UpgradeRefusal, refuseUpgrade } from "./answer.ts";
import { refusalOf, sendUpgrade, type UpgradeAnswer } from "./dial.ts";
import type { IncomingUpgrade, UpgradeRequest } from "./incoming-upgrade.ts";
import { joinDuplexes } from "./join.ts";
import type { UpgradeTarget } from "./target.ts";

/** Options of a proxy for upgraded connections. */
export interface ProxyOptions {
  readonly clock: Clock;
  /** Response to the client when the back end gives no valid one. Default: 502 with the error's message. */
  refusal?(error: unknown): UpgradeRefusal;
}

/** Credentials of the client, which are not forwarded. */
const privateHeaders: ReadonlySet<string> = new Set(["authorization", "cookie"]);

/** Recomputed for a response that is passed on. */
const framingHeaders: ReadonlySet<string> = new Set(["connection", "content-length", "transfer-encoding", "keep-alive"]);

/**
 * Forwards an upgrade request, and then bytes both ways, until either side ends. The request's headers are forwarded except
 * `Authorization`, `Impersonate-*` and cookies; those of the target replace them. A refusal is passed on unchanged. Resolves when both
 * sides are done, and does not reject for errors of either side.
 *
 * Source: kubernetes v1.36.3 apimachinery/pkg/util/proxy/upgradeaware.go.
 */
export async function proxyUpgrade(upgrade: IncomingUpgrade, target: UpgradeTarget, options: ProxyOptions): Promise<void> {
  const { request, socket, head } = upgrade;
  const gone = new AbortController();
  const onGone = (): void => gone.abort(new Error("the client has disconnected"));
  socket.on("error", () => undefined);
  socket.once("close", onGone);
  let answer: UpgradeAnswer;
  try {
    const headers = passedHeaders(request, target.headers);
    answer = await sendUpgrade(target, { method: request.method ?? "GET", headers, wait: { clock: options.clock, signal: gone.signal } });
  } catch (error) {
    return refuseUpgrade(socket, toRefusal(error, options), options.clock);
  }
  if (answer.kind === "refused") return passRefusal(answer.response, { socket, target }, options);
  const { response } = answer;
  socket.write(`${statusLine(response)}${headerLines(response.rawHeaders)}\r\n`);
  socket.write(answer.head);
  answer.socket.write(head);
  await joinDuplexes(socket, answer.socket, options.clock);
}

/** Passes on a response that is not an upgrade. Redirects are refused, because they would lead the client past the API server. */
export async function passRefusal(
  response: IncomingMessage,
  { socket, target }: { readonly socket: Duplex; readonly target: UpgradeTarget },
  options: ProxyOptions,
): Promise<void> {
  const statusCode = response.statusCode ?? 0;
  const { body } = await refusalOf(response, target);
  response.destroy();
  if (statusCode < 400) {
    const error = new Error(`invalid upgrade response: status code ${statusCode}`);
    return refuseUpgrade(socket, toRefusal(error, options), options.clock);
  }
  const kept = response.rawHeaders.flatMap((name, index, all) =>
    index % 2 === 0 && !framingHeaders.has(name.toLowerCase()) ? [name, all[index + 1] ?? ""] : [],
  );
  const headers = [...kept, "Content-Length", String(Buffer.byteLength(body)), "Connection", "close"];
  endWith(socket, Buffer.from(`${statusLine(response)}${headerLines(headers)}\r\n${body}`), options.clock);
}

/** Response to the client when the back end gives none. */
export function toRefusal(error: unknown, options: ProxyOptions): UpgradeRefusal {
  return options.refusal?.(error) ?? { statusCode: 502, text: `error dialing backend: ${messageOf(error)}` };
}

function statusLine({ statusCode, statusMessage }: IncomingMessage): string {
  return `HTTP/1.1 ${statusCode} ${statusMessage ?? ""}\r\n`;
}

function headerLines(raw: readonly string[]): string {
  return raw.map((part, index) => (index % 2 === 0 ? `${part}: ` : `${part}\r\n`)).join("");
}

/** The request's headers, including repeated ones, with the target's in place of those of the same name. */
function passedHeaders({ rawHeaders, headers }: UpgradeRequest, own: OutgoingHttpHeaders = {}): OutgoingHttpHeaders {
  const raw = rawHeaders ?? Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().flatMap((each) => [name, each]));
  const passed = new Map<string, { readonly name: string; readonly values: string[] }>();
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? "";
    const key = name.toLowerCase();
    if (privateHeaders.has(key) || key.startsWith("impersonate-")) continue;
    const entry = passed.get(key) ?? { name, values: [] };
    entry.values.push(raw[index + 1] ?? "");
    passed.set(key, entry);
  }
  for (const name of Object.keys(own)) passed.delete(name.toLowerCase());
  const kept = [...passed.values()].map(({ name, values }) => [name, values.length === 1 ? values[0] : values] as const);
  return { ...Object.fromEntries(kept), ...own };
}
