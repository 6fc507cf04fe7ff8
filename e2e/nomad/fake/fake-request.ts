/** A request that the fake has received. */
export interface FakeRequest {
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
}
