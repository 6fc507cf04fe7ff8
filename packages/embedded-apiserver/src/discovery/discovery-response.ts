/** Response with a discovery document; the body is JSON or, for `/openapi/v2`, protobuf. */
export interface DiscoveryResponse {
  readonly status: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}
