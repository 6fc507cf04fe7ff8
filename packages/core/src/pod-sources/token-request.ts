import { UnavailableError } from "@virtual-kubelet/errdefs";
import { resource, type DeepReadonly, type KubeClient, type KubernetesObject, type Pod } from "@virtual-kubelet/kube-client";

/** What a token is asked for. */
export interface TokenWish {
  /** Absent: the API server's own. */
  readonly audience: string | undefined;
  readonly expirationSeconds: number;
}

/** What the API server issued. */
export interface IssuedToken {
  readonly token: string;
  /** RFC 3339, by the API server's clock. */
  readonly expirationTimestamp: string;
  /** How long it lives from its issue on; the server may have changed the wish. */
  readonly expirationSeconds: number;
}

interface TokenRequest extends KubernetesObject {
  spec: {
    audiences?: string[] | undefined;
    expirationSeconds?: number | undefined;
    boundObjectRef?: { apiVersion: string; kind: string; name: string; uid: string } | undefined;
  };
  status?: { token?: string | undefined; expirationTimestamp?: string | undefined } | undefined;
}

const serviceAccounts = resource<TokenRequest>({
  group: "",
  version: "v1",
  plural: "serviceaccounts",
  kind: "TokenRequest",
  namespaced: true,
});

/**
 * Asks the API server for a token of the pod's service account. It is bound to the pod: the token ends with it.
 *
 * @throws what the API server answers: NotFoundError if account or pod are gone, ForbiddenError, …
 */
export async function requestToken(client: KubeClient, pod: DeepReadonly<Pod>, wish: TokenWish, signal: AbortSignal): Promise<IssuedToken> {
  const { namespace = "default", name = "", uid = "" } = pod.metadata ?? {};
  const account = pod.spec?.serviceAccountName || "default";
  const request: TokenRequest = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    metadata: { namespace, name: account },
    spec: {
      audiences: wish.audience ? [wish.audience] : [],
      expirationSeconds: wish.expirationSeconds,
      boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid },
    },
  };
  const { spec, status } = await client.create(serviceAccounts, request, { signal, subresource: "token" });
  if (!status?.token || !status.expirationTimestamp) {
    throw new UnavailableError(`create serviceaccounts/token ${namespace}/${account}: the answer holds no token`);
  }
  const { token, expirationTimestamp } = status;
  return { token, expirationTimestamp, expirationSeconds: spec.expirationSeconds ?? wish.expirationSeconds };
}
