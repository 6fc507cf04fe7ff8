import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { ProbeAttempt } from "./prober.ts";

/** Maximum bytes kept of a response. Source: maxRespBodyLength of kubernetes v1.36.3 pkg/probe/http. */
const maxBodyBytes = 10 * 1024;
/** Source: Go's net/http client, which a kubelet uses. */
const maxRedirects = 10;
const followed: readonly number[] = [301, 302, 303, 307, 308];

/** Request of a probe or a hook. */
export interface HttpCheck {
  readonly url: URL;
  /** Header names and values in order. Names may repeat; `Host` is allowed. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  /** Whether other ports of the host may belong to others. Redirects to them are not followed then. Default: false. */
  readonly isOnePort?: boolean | undefined;
}

/** The last response. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

/**
 * Sends a GET request. A status from 200 to 399 is success; a redirect that is not followed is success with a warning.
 *
 * @returns a failure also if there is no response
 */
export async function httpCheck(check: HttpCheck, signal: AbortSignal): Promise<ProbeAttempt> {
  try {
    const { status, body } = await httpGet(check, "probe", signal);
    if (status < 200 || status >= 400) return { isSuccess: false, output: `HTTP probe failed with statuscode: ${status}` };
    if (status < 300) return { isSuccess: true, output: body };
    return { isSuccess: true, output: `Probe terminated redirects, Response body: ${body}`, isWarning: true };
  } catch (error) {
    signal.throwIfAborted();
    return { isSuccess: false, output: messageOf(error) };
  }
}

/**
 * Sends a GET request of a probe or a hook, and follows redirects on the same host, or the same port if `isOnePort`. Like a kubelet, does
 * not verify certificates.
 *
 * @throws Error if there is no response, with the transport's error as its cause; `signal.reason` when aborted
 */
export async function httpGet(check: HttpCheck, purpose: "probe" | "lifecycle", signal: AbortSignal): Promise<HttpAnswer> {
  let { url } = check;
  const headers = headerLists(check.headers, purpose);
  try {
    for (let redirects = 0; redirects <= maxRedirects; redirects++) {
      const { status, location, body } = await get(url, headers, signal);
      const next = followed.includes(status) && location !== undefined ? URL.parse(location, url.href) : null;
      if (next?.hostname !== url.hostname || (check.isOnePort && next.port !== url.port)) return { status, body };
      url = next;
    }
    throw new Error(`stopped after ${maxRedirects} redirects`);
  } catch (error) {
    signal.throwIfAborted();
    throw new Error(`Get "${url.href}": ${messageOf(error)}`, { cause: error });
  }
}

interface Answer extends HttpAnswer {
  readonly location: string | undefined;
}

type HeaderLists = Readonly<Record<string, string | string[]>>;

function get(url: URL, headers: HeaderLists, signal: AbortSignal): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const isHttps = url.protocol === "https:";
  const options = { agent: false, headers, signal };
  const onAnswer = (message: IncomingMessage): void => void readBody(message).then(resolve, reject);
  const request = isHttps ? httpsRequest(url, { ...options, rejectUnauthorized: false }, onAnswer) : httpRequest(url, options, onAnswer);
  request.on("error", reject);
  request.end();
  return promise;
}

function headerLists(headers: HttpCheck["headers"], purpose: string): HeaderLists {
  const lists: Record<string, string | string[]> = { "user-agent": `kube-${purpose}/1.36`, accept: "*/*" };
  const own = Map.groupBy(headers, ({ name }) => name.toLowerCase());
  for (const [name, entries] of own) {
    const values = entries.map(({ value }) => value);
    lists[name] = name === "host" ? (values[0] ?? "") : values;
  }
  return lists;
}

async function readBody(message: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  let leftBytes = maxBodyBytes;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    chunks.push(chunk.subarray(0, leftBytes));
    leftBytes -= chunk.length;
    if (leftBytes <= 0) break;
  }
  return { status: message.statusCode ?? 0, location: message.headers.location, body: Buffer.concat(chunks).toString("utf8") };
}
