/** What {@link ProviderDefinition.plan} is told besides the pod. */
export interface PlanContext<Config> {
  /** Name of the node that the pod is planned for. */
  readonly nodeName: string;
  /** As {@link ProviderHost.clusterId}. */
  readonly clusterId: string;
  /** As {@link ProviderHost.clusterDomain}. */
  readonly clusterDomain: string;
  /** What the provider's schema made of its configuration. */
  readonly config: Config;
}

/**
 * One request that a provider would send to its back end. It holds no credentials: neither the provider's own, nor, where
 * the caller has put placeholders in their place, what the pod is given in confidence.
 */
export interface PlannedRequest {
  /** What it is for, in a few words: `register the job`. */
  readonly purpose: string;
  /** The HTTP method, or the verb of a back end that speaks something else. */
  readonly method: string;
  /** Path and query, without scheme and host: `/v1/jobs?namespace=default`. What only an answer tells stands in braces: `/containers/{id}/start`. */
  readonly path: string;
  /** Headers that say something about the pod; those of authentication and transport are left out. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The JSON of its body, exactly; text for any other kind; absent: it has none. */
  readonly body?: unknown;
  /** When it is sent, or what of it is not known before: `only where the image is missing`. */
  readonly note?: string | undefined;
}
