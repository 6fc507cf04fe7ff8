import { isRecord } from "../is-record.ts";
import type { RemoteCommandResult, RemoteCommandStatus } from "./result.ts";

/** Reason of a status that carries an exit code. */
const nonZeroExitCode = "NonZeroExitCode";

/** Encodes a result for versions 4 and 5. Source: kubernetes v1.36.3 k8s.io/cri-streaming remotecommand/exec.go. */
export function toStatus(result: RemoteCommandResult): RemoteCommandStatus {
  if (result.status !== undefined) return result.status;
  if ("error" in result)
    return {
      metadata: {},
      status: "Failure",
      reason: "InternalError",
      code: 500,
      message: `Internal error occurred: ${result.error}`,
    };
  // Clients read one byte, so an invalid exit code must not become 0.
  const exitCode = result.exitCode > 0 && result.exitCode <= 255 ? Math.trunc(result.exitCode) : 255;
  if (result.exitCode === 0) return { metadata: {}, status: "Success" };
  return {
    metadata: {},
    status: "Failure",
    reason: nonZeroExitCode,
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    details: { causes: [{ reason: "ExitCode", message: String(exitCode) }] },
  };
}

/** Decodes a status of versions 4 and 5. Malformed text becomes a failure that says so. */
export function fromStatusText(text: string): RemoteCommandResult {
  // Old servers send nothing on success.
  if (text === "") return { exitCode: 0 };
  const status = tryParseStatus(text);
  if (status === undefined) return { error: `error stream protocol error: ${text.slice(0, 1024)}` };
  if (status.status === "Success") return { exitCode: 0, status };
  if (status.reason !== nonZeroExitCode) return { error: status.message ?? status.reason ?? "the command failed", status };
  const cause = status.details?.causes?.find(({ reason }) => reason === "ExitCode");
  const exitCode = /^[0-9]{1,3}$/.test(cause?.message ?? "") ? Number(cause?.message) : 256;
  return exitCode <= 255 ? { exitCode, status } : { error: `error stream protocol error: invalid exit code value ${cause?.message}` };
}

function tryParseStatus(text: string): RemoteCommandStatus | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value) || (value["status"] !== "Success" && value["status"] !== "Failure")) return undefined;
  const { reason, message, code, details, metadata } = value;
  const causes = isRecord(details) && Array.isArray(details["causes"]) ? details["causes"].filter(isRecord) : [];
  return {
    ...(isRecord(metadata) ? { metadata } : {}),
    status: value["status"],
    ...(typeof reason === "string" ? { reason } : {}),
    ...(typeof message === "string" ? { message } : {}),
    ...(typeof code === "number" ? { code } : {}),
    ...(isRecord(details) ? { details: { ...details, causes: causes.map(toCause) } } : {}),
  };
}

function toCause(cause: Readonly<Record<string, unknown>>): { readonly reason?: string; readonly message?: string } {
  return {
    ...(typeof cause["reason"] === "string" ? { reason: cause["reason"] } : {}),
    ...(typeof cause["message"] === "string" ? { message: cause["message"] } : {}),
  };
}
