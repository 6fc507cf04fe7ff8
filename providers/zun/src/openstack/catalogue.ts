import { UnavailableError } from "@virtual-kubelet/errdefs";

/** Service of the cloud that the provider uses. */
export type Service = "container" | "network";

/** Service in a token's catalog, in Keystone's format. */
export interface CatalogueEntry {
  readonly type?: string | undefined;
  readonly endpoints?: readonly {
    readonly interface?: string | undefined;
    readonly region?: string | undefined;
    readonly region_id?: string | undefined;
    readonly url?: string | undefined;
  }[];
}

/** Source: OpenStack's service types. Magnum, which is not used, is `container-infra`. */
const serviceTypes: Readonly<Record<Service, readonly string[]>> = {
  container: ["container", "application-container"],
  network: ["network"],
};

/** Choice of a service's endpoint. */
export interface EndpointChoice {
  readonly region?: string | undefined;
  /** Default: `public`. */
  readonly interface?: string | undefined;
}

/**
 * Returns the URL of a service, without a trailing slash.
 *
 * @throws UnavailableError with the catalog's entries if there is none. Nothing is then known about the service's objects
 */
export function endpointOf(catalogue: readonly CatalogueEntry[], service: Service, choice: EndpointChoice): string {
  // Older configurations have values such as publicURL (OS_ENDPOINT_TYPE).
  const wanted = (choice.interface ?? "public").replace(/URL$/, "");
  const endpoints = catalogue.filter(({ type = "" }) => serviceTypes[service].includes(type)).flatMap((entry) => entry.endpoints ?? []);
  const found = endpoints.find(
    (endpoint) =>
      endpoint.interface === wanted &&
      (choice.region === undefined || (endpoint.region_id ?? endpoint.region) === choice.region || endpoint.region === choice.region),
  );
  if (found?.url !== undefined) return found.url.replace(/\/+$/, "");
  const had = endpoints.map((endpoint) => `${endpoint.interface} in ${endpoint.region_id ?? endpoint.region}`).join(", ");
  const types = [...new Set(catalogue.map(({ type }) => type))].join(", ");
  const where = choice.region === undefined ? "" : ` in region ${choice.region}`;
  throw new UnavailableError(
    `find the ${wanted} endpoint of service ${service}${where} in the catalogue: ${had === "" ? `there is no such service among ${types || "none"}` : `it is there as ${had}`}`,
  );
}
