import { connect, constants, type ClientHttp2Session } from "node:http2";
import type { ProbeAttempt } from "./prober.ts";

/** Names of `grpc.health.v1.HealthCheckResponse.ServingStatus`. */
const servingStatus = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"] as const;
const maxAnswerBytes = 1024;

/** Address and service; an empty service stands for the whole server. */
export interface GrpcCheck {
  readonly host: string;
  readonly port: number;
  readonly service: string;
}

/** Calls gRPC's health service without TLS, like a kubelet. Only SERVING is success. */
export async function grpcCheck(check: GrpcCheck, signal: AbortSignal): Promise<ProbeAttempt> {
  const host = check.host.includes(":") ? `[${check.host}]` : check.host;
  const session = connect(`http://${host}:${check.port}`, { settings: { enablePush: false } });
  const onAbort = (): void => session.destroy();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    signal.throwIfAborted();
    const attempt = await ask(session, check.service);
    // A stream of a destroyed session ends as if the server had closed it.
    signal.throwIfAborted();
    return attempt;
  } catch (error) {
    signal.throwIfAborted();
    return { isSuccess: false, output: `service ${check.host}:${check.port}: ${error instanceof Error ? error.message : String(error)}` };
  } finally {
    signal.removeEventListener("abort", onAbort);
    session.destroy();
  }
}

function ask(session: ClientHttp2Session, service: string): Promise<ProbeAttempt> {
  const { promise, resolve, reject } = Promise.withResolvers<ProbeAttempt>();
  session.on("error", reject);
  session.on("close", () => reject(new Error("the connection was closed")));
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: "POST",
    [constants.HTTP2_HEADER_PATH]: "/grpc.health.v1.Health/Check",
    [constants.HTTP2_HEADER_CONTENT_TYPE]: "application/grpc",
    [constants.HTTP2_HEADER_TE]: "trailers",
    [constants.HTTP2_HEADER_USER_AGENT]: "kube-probe/1.36",
  });
  let answer = Buffer.alloc(0);
  let grpcStatus: string | undefined;
  const note = (headers: Record<string, unknown>): void => {
    const value = headers["grpc-status"];
    if (typeof value === "string") grpcStatus = value;
  };
  stream.on("response", note);
  stream.on("trailers", note);
  stream.on("data", (chunk: Buffer) => {
    if (answer.length < maxAnswerBytes) answer = Buffer.concat([answer, chunk]);
  });
  stream.on("error", reject);
  stream.on("end", () => resolve(verdict(grpcStatus, answer)));
  stream.end(requestMessage(service));
  return promise;
}

/** A length-prefixed HealthCheckRequest: field 1 is the service's name. */
function requestMessage(service: string): Buffer {
  const name = Buffer.from(service, "utf8");
  const field = name.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a, ...varint(name.length)]), name]);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(field.length, 1);
  return Buffer.concat([prefix, field]);
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}

function verdict(grpcStatus: string | undefined, answer: Buffer): ProbeAttempt {
  if (grpcStatus !== "0") return { isSuccess: false, output: `health rpc failed with status ${grpcStatus ?? "unknown"}` };
  // HealthCheckResponse: field 1 is the status, absent for UNKNOWN.
  const status = answer[5] === 0x08 ? (answer[6] ?? 0) : 0;
  const output = `service status ${servingStatus[status] ?? status}`;
  return { isSuccess: servingStatus[status] === "SERVING", output };
}
