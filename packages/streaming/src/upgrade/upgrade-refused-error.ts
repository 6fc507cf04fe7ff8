import { type ErrorCode, errorCodes, isInvalidInput, VirtualKubeletError } from "@virtual-kubelet/errdefs";

/** The other side did not accept an upgrade request. */
export class UpgradeRefusedError extends VirtualKubeletError {
  /** Derived from the HTTP status: 404 is `VK_NOT_FOUND`, and so on; other 4xx are invalid input, everything else is unavailable. */
  readonly code: ErrorCode;
  /** HTTP status, such as 403. */
  readonly statusCode: number;
  /** Body of the response, truncated at 64 KiB; may be a `Status` in JSON. */
  readonly body: string;

  constructor(message: string, answer: { readonly statusCode: number; readonly body: string }, options?: ErrorOptions) {
    super(message, options);
    this.code = codeFor(answer.statusCode);
    this.statusCode = answer.statusCode;
    this.body = answer.body;
  }
}

/** Whether another transport may succeed: the request was refused, or answered with a version that was not offered. */
export function isRefusal(error: unknown): boolean {
  return error instanceof UpgradeRefusedError || isInvalidInput(error);
}

const codes: readonly ErrorCode[] = ["VK_UNAUTHORIZED", "VK_FORBIDDEN", "VK_NOT_FOUND", "VK_CONFLICT", "VK_QUOTA_EXCEEDED"];

function codeFor(statusCode: number): ErrorCode {
  const exact = codes.find((code) => errorCodes[code].httpStatus === statusCode);
  if (exact !== undefined) return exact;
  return statusCode >= 400 && statusCode < 500 ? "VK_INVALID_INPUT" : "VK_UNAVAILABLE";
}
