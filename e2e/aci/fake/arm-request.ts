/** A request to the fake. */
export interface ArmRequest {
  /** In capitals. */
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Parsed JSON or form; `undefined` if there is none. */
  readonly body?: unknown;
  /** Port of the client; `undefined` if the request came over no connection. */
  readonly clientPort?: number | undefined;
}

/** An answer of the fake. */
export interface ArmAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as JSON; a string is sent unchanged. */
  readonly body?: unknown;
}

/** Parsed path of a resource. Azure compares names without regard to case. */
export interface ArmPath {
  readonly subscription: string;
  /** `undefined` for paths of the whole subscription. */
  readonly resourceGroup: string | undefined;
  /** Namespace of the resource provider in lower case, such as `microsoft.containerinstance`. */
  readonly provider: string;
  /** Types and names after the provider, as they were sent. */
  readonly rest: readonly string[];
}

/** Parses a path. @returns `undefined` if it is no path of a resource */
export function parseArmPath(path: string): ArmPath | undefined {
  const [, subscription, , resourceGroup, provider, rest] =
    /^\/subscriptions\/([^/]+)(\/resourcegroups\/([^/]+))?\/providers\/([^/]+)\/(.+)$/i.exec(path) ?? [];
  if (subscription === undefined || provider === undefined || rest === undefined) return undefined;
  return {
    subscription: decodeURIComponent(subscription),
    resourceGroup: resourceGroup === undefined ? undefined : decodeURIComponent(resourceGroup),
    provider: provider.toLowerCase(),
    rest: rest.split("/").filter(Boolean).map(decodeURIComponent),
  };
}
