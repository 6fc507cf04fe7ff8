import type { Clock } from "@virtual-kubelet/clock";
import { AwsError, invalidParameter } from "../api/aws-error.ts";

/** An event of a log stream. Times are milliseconds since the epoch. */
export interface LogEvent {
  readonly timestamp: number;
  readonly message: string;
  readonly ingestionTime: number;
}

/** Reads the events that a stream has so far, in order. */
export type LogSource = () => Promise<readonly LogEvent[]>;

interface Stream {
  readonly written: LogEvent[];
  readonly sources: LogSource[];
}

/** Maximum bytes of the events in one answer: 1 MiB, with 26 bytes for each event besides its text. */
const maxPageBytes = 1_048_576;
const bytesPerEvent = 26;

/** CloudWatch Logs: groups, streams, and reading them. */
export class FakeLogs {
  /** Milliseconds after which an event can be read. */
  ingestionMs: number;
  /** Whether each page is preceded by an empty one although events follow, as the documentation of GetLogEvents warns. */
  answersEmptyPages = false;
  readonly #groups = new Map<string, Map<string, Stream>>();
  readonly #clock: Clock;

  constructor(clock: Clock, ingestionMs: number) {
    this.#clock = clock;
    this.ingestionMs = ingestionMs;
  }

  hasGroup(name: string): boolean {
    return this.#groups.has(name);
  }

  createLogGroup({ logGroupName = "" }: { readonly logGroupName?: string }): object {
    if (this.#groups.has(logGroupName)) throw new AwsError("ResourceAlreadyExistsException", "The specified log group already exists");
    this.#groups.set(logGroupName, new Map());
    return {};
  }

  createLogStream({ logGroupName = "", logStreamName = "" }: { readonly logGroupName?: string; readonly logStreamName?: string }): object {
    const group = this.#group(logGroupName);
    if (group.has(logStreamName)) throw new AwsError("ResourceAlreadyExistsException", "The specified log stream already exists");
    group.set(logStreamName, { written: [], sources: [] });
    return {};
  }

  putLogEvents(request: {
    readonly logGroupName?: string;
    readonly logStreamName?: string;
    readonly logEvents?: readonly { readonly timestamp: number; readonly message: string }[];
  }): object {
    const { written } = this.#stream(request.logGroupName, request.logStreamName);
    const ingestionTime = this.#clock.now();
    written.push(...(request.logEvents ?? []).map((event) => ({ ...event, ingestionTime })));
    return { nextSequenceToken: "49590302000000000000000000000000000000000000000000000001" };
  }

  /** Lets a stream have the output of a container. Creates the stream, and also the group if `createGroup` is set. */
  attach(group: string, stream: string, source: LogSource, { createGroup }: { readonly createGroup: boolean }): void {
    if (createGroup && !this.#groups.has(group)) this.#groups.set(group, new Map());
    const streams = this.#group(group);
    const found = streams.get(stream) ?? { written: [], sources: [] };
    streams.set(stream, found);
    found.sources.push(source);
  }

  async getLogEvents(request: {
    readonly logGroupName?: string;
    readonly logStreamName?: string;
    readonly startTime?: number;
    readonly endTime?: number;
    readonly nextToken?: string;
    readonly limit?: number;
    readonly startFromHead?: boolean;
  }): Promise<object> {
    const { nextToken, limit = 10_000, startFromHead = false } = request;
    if (limit < 1 || limit > 10_000) throw invalidParameter("limit must be between 1 and 10000.");
    const all = await this.#visible(this.#stream(request.logGroupName, request.logStreamName));
    const isForward = nextToken === undefined ? startFromHead : nextToken.startsWith("f/");
    const token = nextToken === undefined ? { index: isForward ? 0 : all.length, isAfterEmptyPage: false } : readToken(nextToken);
    const rest = all
      .map((event, index) => ({ event, index }))
      .filter(({ event, index }) => isInRange(event, request) && (isForward ? index >= token.index : index < token.index));
    const isEmptied = this.answersEmptyPages && nextToken !== undefined && rest.length > 0 && !token.isAfterEmptyPage;
    const page = isEmptied ? [] : takePage(rest, limit, isForward);
    const [first] = page;
    const last = page.at(-1);
    const isAfterEmptyPage = isEmptied || (page.length === 0 && token.isAfterEmptyPage);
    return {
      events: page.map(({ event }) => event),
      // At the end of the stream, the token is the one that was sent.
      nextForwardToken: tokenOf("f", last === undefined ? token.index : last.index + 1, isAfterEmptyPage),
      nextBackwardToken: tokenOf("b", first === undefined ? token.index : first.index, isAfterEmptyPage),
    };
  }

  async filterLogEvents(request: {
    readonly logGroupName?: string;
    readonly logStreamNames?: readonly string[];
    readonly logStreamNamePrefix?: string;
    readonly startTime?: number;
    readonly endTime?: number;
    readonly filterPattern?: string;
    readonly nextToken?: string;
    readonly limit?: number;
  }): Promise<object> {
    const { logStreamNames, logStreamNamePrefix, startTime = 0, endTime = Infinity, filterPattern = "", limit = 10_000 } = request;
    if (filterPattern !== "") throw invalidParameter("The fake evaluates no filter patterns.");
    if (logStreamNames !== undefined && logStreamNamePrefix !== undefined)
      throw invalidParameter("logStreamNames and logStreamNamePrefix cannot be specified together.");
    const events: (LogEvent & { readonly logStreamName: string; readonly eventId: string })[] = [];
    for (const [logStreamName, stream] of this.#group(request.logGroupName ?? "")) {
      if (!(logStreamNames?.includes(logStreamName) ?? logStreamName.startsWith(logStreamNamePrefix ?? ""))) continue;
      for (const [index, event] of (await this.#visible(stream)).entries())
        if (event.timestamp >= startTime && event.timestamp <= endTime)
          events.push({ logStreamName, ...event, eventId: String(event.timestamp).padEnd(20, "0") + String(index).padStart(36, "0") });
    }
    events.sort((one, other) => one.timestamp - other.timestamp);
    const from = request.nextToken === undefined ? 0 : readToken(request.nextToken).index;
    const page = events.slice(from, from + limit);
    const isMore = from + page.length < events.length;
    return { events: page, searchedLogStreams: [], ...(isMore && { nextToken: tokenOf("f", from + page.length) }) };
  }

  async #visible({ written, sources }: Stream): Promise<readonly LogEvent[]> {
    const readable = this.#clock.now();
    const events = [...written, ...(await Promise.all(sources.map((source) => source()))).flat()];
    return events.filter(({ ingestionTime }) => ingestionTime <= readable).sort((one, other) => one.timestamp - other.timestamp);
  }

  #group(name: string): Map<string, Stream> {
    const group = this.#groups.get(name);
    if (group === undefined) throw new AwsError("ResourceNotFoundException", "The specified log group does not exist.");
    return group;
  }

  #stream(group: string = "", stream: string = ""): Stream {
    const found = this.#group(group).get(stream);
    if (found === undefined) throw new AwsError("ResourceNotFoundException", "The specified log stream does not exist.");
    return found;
  }
}

interface Indexed {
  readonly event: LogEvent;
  readonly index: number;
}

/** First entries, or the last if not `forward`, that fit in a page. */
function takePage(entries: readonly Indexed[], limit: number, forward: boolean): readonly Indexed[] {
  const page: Indexed[] = [];
  let bytes = 0;
  for (const entry of forward ? entries : entries.toReversed()) {
    bytes += Buffer.byteLength(entry.event.message) + bytesPerEvent;
    if (page.length === limit || bytes > maxPageBytes) break;
    page.push(entry);
  }
  return forward ? page : page.toReversed();
}

function isInRange(
  { timestamp }: LogEvent,
  { startTime = 0, endTime = Infinity }: { readonly startTime?: number; readonly endTime?: number },
): boolean {
  return timestamp >= startTime && timestamp < endTime;
}

/** Tokens have the form of CloudWatch's: a direction and 56 digits. The first digit tells that an empty page came before. */
function tokenOf(direction: "f" | "b", index: number, isAfterEmptyPage: boolean = false): string {
  return `${direction}/${isAfterEmptyPage ? 1 : 0}${String(index).padStart(55, "0")}`;
}

function readToken(token: string): { readonly index: number; readonly isAfterEmptyPage: boolean } {
  const [, flag, digits] = /^[fb]\/([01])(\d{55})$/.exec(token) ?? [];
  if (flag === undefined || digits === undefined) throw invalidParameter("The specified nextToken is invalid.");
  return { index: Number(digits), isAfterEmptyPage: flag === "1" };
}
