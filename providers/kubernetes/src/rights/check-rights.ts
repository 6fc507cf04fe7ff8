import { Semaphore } from "@virtual-kubelet/async";
import { ForbiddenError, isUnauthorized, UnavailableError } from "@virtual-kubelet/errdefs";
import type { KubeClient } from "@virtual-kubelet/kube-client";
import type { KubernetesConfig } from "../config.ts";
import { refusedCredentials } from "../far/refused-credentials.ts";
import { farRules, type FarRule } from "./far-rules.ts";

/** A single access, as a SelfSubjectAccessReview names it. */
interface FarAccess {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string | undefined;
  /** `undefined` for all namespaces. */
  readonly namespace: string | undefined;
}

/** Questions asked at once. */
const atOnce = 8;

const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/**
 * Asks the far cluster whether the credentials may do all that the configuration needs. Nothing is changed, and optional rights are not asked
 * about.
 *
 * @param namespace - the only far namespace; `undefined`: all
 * @throws ForbiddenError that names each missing right, with the remedy
 */
export async function checkRights(
  client: Pick<KubeClient, "raw">,
  config: KubernetesConfig,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const needed = farRules(config).filter(({ isOptional }) => !isOptional);
  const semaphore = new Semaphore(atOnce);
  const missing = await Promise.all(
    needed.map(async (rule) => {
      const refused: FarAccess[] = [];
      for (const access of accessesOf(rule, namespace)) {
        if (!(await semaphore.run(() => isAllowed(client, access, signal), signal))) refused.push(access);
      }
      return refused.length === 0 ? [] : [`${inWords(refused)}, which ${rule.why}`];
    }),
  );
  const lines = missing.flat();
  if (lines.length === 0) return;
  throw new ForbiddenError(
    `the far cluster does not allow: ${lines.join("; ")}. Apply there what virtual-kubelet manifests far prints, with an administrator's credentials`,
  );
}

function accessesOf({ scope, apiGroups, resources, verbs }: FarRule, namespace: string | undefined): readonly FarAccess[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((path) => {
      const [resource = "", subresource] = path.split("/");
      return verbs.map((verb) => ({ verb, group, resource, subresource, namespace: scope === "pods" ? namespace : undefined }));
    }),
  );
}

/** Asks the far cluster whether the credentials allow this. */
export async function isAllowed(client: Pick<KubeClient, "raw">, access: FarAccess, signal: AbortSignal): Promise<boolean> {
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes: access } };
  const answer = await client.raw("POST", reviews, review, { signal }).catch((error: unknown) => {
    throw isUnauthorized(error) ? refusedCredentials(error) : error;
  });
  const { status } = Object(answer) as { readonly status?: { readonly allowed?: unknown } };
  if (typeof status?.allowed !== "boolean")
    throw new UnavailableError(`the far cluster's answer about ${access.verb} ${access.resource} is not a SelfSubjectAccessReview`);
  return status.allowed;
}

/** `create, get pods/exec and pods/attach in namespace vk`. */
function inWords(accesses: readonly FarAccess[]): string {
  const verbs = new Set(accesses.map(({ verb }) => verb));
  const resources = new Set(
    accesses.map(({ resource, subresource }) => (subresource === undefined ? resource : `${resource}/${subresource}`)),
  );
  const [first] = accesses;
  const where = first?.namespace === undefined ? "in the whole cluster" : `in namespace ${first.namespace}`;
  return `${[...verbs].join(", ")} ${[...resources].join(", ")} ${where}`;
}
