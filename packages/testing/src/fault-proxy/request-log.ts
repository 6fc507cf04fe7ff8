import { matches, type Fault, type MatchableRequest, type RequestMatch } from "./faults.ts";

/** A request that the proxy received. */
export interface ProxiedRequest extends MatchableRequest {
  /** Time of arrival in monotonic milliseconds of the clock. */
  readonly atMs: number;
  /** Status of the response; `undefined` before the response and if there is none. */
  readonly status: number | undefined;
  /** Fault that was applied to it; `undefined` if none was. */
  readonly fault: Fault["kind"] | undefined;
}

/** All requests since the start or the last clearing, oldest first. */
export class RequestLog {
  readonly entries: ProxiedRequest[] = [];

  count(match: RequestMatch): number {
    return this.entries.filter((request) => matches(match, request)).length;
  }
}
