import { messageOf } from "@virtual-kubelet/errdefs";
import { failure } from "../http/respond.ts";
import { plainFailure } from "./kubelet-endpoint.ts";

/** What a client whose connection was to be handed on is told of a back end that cannot be reached; the shape of streaming's `Refusal`. */
export function dialRefusal(error: unknown): { readonly statusCode: number; readonly text: string; readonly contentType: string } {
  const { status, body } = failure(plainFailure(`error dialing backend: ${messageOf(error)}`));
  return { statusCode: status, text: Buffer.from(body as Uint8Array).toString(), contentType: "application/json" };
}
