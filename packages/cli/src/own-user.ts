import type { KubeClient } from "@virtual-kubelet/kube-client";

/** Not stored. Source: kubernetes.io, SelfSubjectReview, in every API server from 1.28 on. */
const selfSubjectReviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const selfSubjectReview = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };

/** Asks the API server for the client's user name; `undefined` if it does not tell. */
export async function ownUser(client: KubeClient, signal: AbortSignal): Promise<string | undefined> {
  const review = await client.raw("POST", selfSubjectReviews, selfSubjectReview, { signal });
  const { status } = Object(review) as { readonly status?: { readonly userInfo?: { readonly username?: unknown } } };
  const name = status?.userInfo?.username;
  return typeof name === "string" ? name : undefined;
}
