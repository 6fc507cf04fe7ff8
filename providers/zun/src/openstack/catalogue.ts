import { UnavailableError } from "@virtual-kubelet/errdefs";

/** A service of the cloud that is used here. */
export type Service = "container" | "network";

/** One service in a token's catalogue, as Keystone writes it. */
export interface CatalogueEntry {
  readonly type?: string | undefined;
  readonly endpoints?: readonly {
    readonly interface?: string | undefined;
    readonly region?: string | undefined;
    readonly region_id?: string | undefined;
    readonly url?: string | undefined;
  }[];
}

/** Source: OpenStack's service types; Magnum is `container-infra`, and is not meant. */
const serviceTypes: Readonly<Record<Service, readonly string[]>> = {
  container: ["container", "application-container"],
  network: ["network"],
};

/** Which endpoint of a service is wanted. */
export interface EndpointChoice {
  readonly region?: string | undefined;
  /** Default `public`. */
  readonly interface?: string | undefined;
}

/**
 * URL of a service, without a slash at its end.
 *
 * @throws UnavailableError naming what the catalogue does have: nothing is known then of what the service holds
 */
export function endpointOf(catalogue: readonly CatalogueEntry[], service: Service, choice: EndpointChoice): string {
  // OS_ENDPOINT_TYPE has long been publicURL.
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
