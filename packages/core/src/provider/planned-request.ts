/** Context of {@link ProviderDefinition.plan}. */
export interface PlanContext<Config> {
  /** Name of the node for which the pod is planned. */
  readonly nodeName: string;
  /** As {@link ProviderHost.clusterId}. */
  readonly clusterId: string;
  /** As {@link ProviderHost.clusterDomain}. */
  readonly clusterDomain: string;
  /** The output of the provider's schema. */
  readonly config: Config;
}

/**
 * One request that a provider would send to its back end. It holds no credentials of the provider, and no secrets of the pod if the caller
 * passes placeholders in their place.
 */
export interface PlannedRequest {
  /** Purpose of the request in a few words: `register the job`. */
  readonly purpose: string;
  /** HTTP method, or the verb of a back end with another protocol. */
  readonly method: string;
  /** Path and query: `/v1/jobs?namespace=default`. A value from an earlier answer is in braces: `/containers/{id}/start`. */
  readonly path: string;
  /** Headers with information about the pod; headers for authentication and transport are left out. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The exact JSON of the body; a string for any other kind; absent: no body. */
  readonly body?: unknown;
  /** Condition under which the request is sent, or values that are not known in advance: `only where the image is missing`. */
  readonly note?: string | undefined;
}
