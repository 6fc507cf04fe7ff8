import { withDeadline } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { KubeClient } from "@virtual-kubelet/kube-client";
import type { NeededAccess } from "../manifests/access-rights.ts";

/** An access to ask about. */
export interface AccessQuestion extends NeededAccess {
  /** Selector of a list or watch. */
  readonly fieldSelector?: { readonly key: string; readonly value: string } | undefined;
}

/** The API server's answer. */
export interface AccessAnswer {
  readonly question: AccessQuestion;
  readonly outcome: "allowed" | "denied" | "unknown";
  /** The authorizer's reason, or why it is unknown; may be empty. */
  readonly reason: string;
}

/** Timeout of one question, in milliseconds. */
const timeoutMs = 10_000;

const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/** What is asked. */
export interface AccessAuthority {
  readonly client: Pick<KubeClient, "raw">;
  readonly clock: Clock;
}

/** Asks the API server whether it would allow an access. The review is not stored, and the access itself is not made. */
export async function askAccess(question: AccessQuestion, { client, clock }: AccessAuthority, signal: AbortSignal): Promise<AccessAnswer> {
  const { fieldSelector, ...attributes } = question;
  const requirements = fieldSelector && [{ key: fieldSelector.key, operator: "In", values: [fieldSelector.value] }];
  const resourceAttributes = { ...attributes, ...(requirements && { fieldSelector: { requirements } }) };
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes } };
  try {
    const what = `ask whether ${question.verb} ${question.resource} is allowed`;
    const answer = await withDeadline({ clock, timeoutMs, what }, signal, (inner) =>
      client.raw("POST", reviews, review, { signal: inner }),
    );
    return { question, ...outcomeIn(answer) };
  } catch (error) {
    signal.throwIfAborted();
    return { question, outcome: "unknown", reason: messageOf(error).replaceAll("\n", " ") };
  }
}

function outcomeIn(answer: unknown): Pick<AccessAnswer, "outcome" | "reason"> {
  const { status } = Object(answer) as { readonly status?: { readonly allowed?: unknown; readonly reason?: unknown } };
  if (typeof status?.allowed !== "boolean") return { outcome: "unknown", reason: "the answer is not a SelfSubjectAccessReview" };
  return { outcome: status.allowed ? "allowed" : "denied", reason: typeof status.reason === "string" ? status.reason : "" };
}
