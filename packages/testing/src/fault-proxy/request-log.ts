import { matches, type Fault, type MatchableRequest, type RequestMatch } from "./faults.ts";

/** A request that came to the proxy. */
export interface ProxiedRequest extends MatchableRequest {
  /** When it came, on the clock's monotonic time. */
  readonly atMs: number;
  /** Status of the answer; `undefined` until there is one, or where there is none. */
  readonly status: number | undefined;
  /** What was done to it. */
  readonly fault: Fault["kind"] | undefined;
}

/** All requests since the start, or since it was cleared, oldest first. */
export class RequestLog {
  readonly entries: ProxiedRequest[] = [];

  count(match: RequestMatch): number {
    return this.entries.filter((request) => matches(match, request)).length;
  }
}
