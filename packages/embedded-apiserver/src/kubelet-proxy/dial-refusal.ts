import { goErrorText } from "../outbound/go-error.ts";
import { failure } from "../http/respond.ts";
import { plainFailure } from "./kubelet-endpoint.ts";

/** Response to an upgrade request whose back end cannot be reached; shaped like streaming's `UpgradeRefusal`. */
export function dialRefusal(error: unknown): { readonly statusCode: number; readonly text: string; readonly contentType: string } {
  const { status, body } = failure(plainFailure(`error dialing backend: ${goErrorText(error)}`));
  return { statusCode: status, text: Buffer.from(body as Uint8Array).toString(), contentType: "application/json" };
}
