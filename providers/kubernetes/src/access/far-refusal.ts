import { ForbiddenError, InvalidInputError, NotFoundError, UnauthorizedError, UnavailableError } from "@virtual-kubelet/errdefs";
import { statusOf } from "@virtual-kubelet/kube-client";
import { UpgradeRefusedError } from "@virtual-kubelet/streaming";
import type { FarTarget } from "./far-target.ts";

/** What a far API server or kubelet said instead of doing what it was asked. */
interface Refusal {
  readonly code: number;
  readonly message: string;
}

/**
 * Explains the error of a request for a far pod's subresource with the far cluster's own words, because the user of kubectl
 * sees its message. The explanation replaces the error, whose text has the same words. An error that is not a refusal is returned as it is.
 */
export function explainRefusal(error: unknown, target: FarTarget, subresource: string): unknown {
  const refusal = refusalOf(error);
  return refusal === undefined ? error : refusalError(refusal, target, subresource);
}

/** The error for a refusal; see {@link explainRefusal}. */
export function refusalError({ code, message }: Refusal, target: FarTarget, subresource: string): Error {
  const said = withoutPrefixes(message);
  if (code === 404 || missing.test(said)) return new NotFoundError(said);
  switch (code) {
    case 401:
      return new UnauthorizedError(`the far cluster refuses the credentials: ${said}; renew those of cluster.kubeconfig`);
    case 403:
      return new ForbiddenError(
        `the far cluster does not allow the virtual node to ${verbs[subresource] ?? "create and get"} pods/${subresource} in namespace ${target.namespace}: ${said}; virtual-kubelet manifests far prints the rights that it needs`,
      );
    case 408:
    case 429:
      return new UnavailableError(said);
    default:
      return code >= 400 && code < 500 ? new InvalidInputError(said) : new UnavailableError(said);
  }
}

/** Verbs for a subresource. A WebSocket is opened by a GET. */
const verbs: Readonly<Record<string, string>> = { log: "get" };

/**
 * Words for a container or pod that is not there, with a status that does not say so.
 *
 * Source: kubernetes v1.36.3 pkg/registry/core/pod/strategy.go, pkg/kubelet/server/server.go, pkg/kubelet/kuberuntime.
 */
const missing =
  /^(container \S+ is not valid for pod|container not found|pod does not exist|previous terminated container \S+ in pod \S+ not found)/;

/** Beginnings that each server on the way adds; the home cluster's servers add the same again. */
const prefix =
  /^(Internal error occurred: |error executing command in container: |error attaching to container: |unable to upgrade connection: |error forwarding port \d+ to pod \S*, uid : ?)/;

function withoutPrefixes(message: string): string {
  let rest = message.trim();
  while (prefix.test(rest)) rest = rest.replace(prefix, "");
  return rest;
}

function refusalOf(error: unknown): Refusal | undefined {
  const { code, message } = statusOf(error) ?? {};
  if (code !== undefined) return { code, message: message ?? `the far cluster answered ${code}` };
  if (!(error instanceof UpgradeRefusedError)) return undefined;
  const { statusCode, body } = error;
  return { code: statusCode, message: messageIn(body) || `the far cluster answered ${statusCode}` };
}

/** The message of a `Status`, or the text itself. */
function messageIn(body: string): string {
  try {
    const status: unknown = JSON.parse(body);
    if (typeof status === "object" && status !== null && "message" in status && typeof status.message === "string") return status.message;
  } catch {
    // Kubelets answer with text.
  }
  return body.slice(0, 1024);
}
