import { Refusal } from "./refusal.ts";

/** Where a request goes. */
export interface RequestTarget {
  /** As it came, without the query. */
  readonly path: string;
  /** The path's parts, with escapes decoded. A slash at the end makes none; two slashes make an empty one. */
  readonly segments: readonly string[];
  /** What stands behind the question mark, not decoded. */
  readonly query: string;
}

/** How long a URL may be, in bytes; a command has as much room as the headers. */
const maxUrlBytes = 16 * 1024;

/** First parts of paths whose query carries a command. */
const commandRoots: ReadonlySet<string | undefined> = new Set(["exec", "run"]);

/** What no name in a path has: control characters, and what would make one segment several. */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const forbidden = /[\u0000-\u001f\u007f/\\]/;

/**
 * Reads a request's URL.
 *
 * @throws Refusal 414 for one that is too long, 400 for one that cannot be read or wants to climb out of its path
 */
export function parseRequestTarget(url: string): RequestTarget {
  const [path = "", ...rest] = withoutOrigin(url).split("?");
  if (!path.startsWith("/")) throw new Refusal(400, "400: Bad Request: the URL is no path");
  const segments = path.slice(1).split("/");
  const root = segments[0] === "nodes" ? segments[2] : segments[0];
  if (url.length > maxUrlBytes && !commandRoots.has(root))
    throw new Refusal(414, `414: URI Too Long: ${url.length} bytes, at most ${maxUrlBytes}`);
  if (segments.at(-1) === "") segments.pop();
  return { path, segments: segments.map(decodeSegment), query: rest.join("?") };
}

/** A proxy may send `http://host/path`. */
function withoutOrigin(url: string): string {
  return url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?]*/i, "");
}

function decodeSegment(segment: string): string {
  const decoded = segment.includes("%") ? tryDecode(segment) : segment;
  if (decoded === undefined) throw new Refusal(400, "400: Bad Request: the path has an escape that is none");
  if (decoded === "." || decoded === ".." || forbidden.test(decoded))
    throw new Refusal(400, "400: Bad Request: the path has a part that is no name");
  return decoded;
}

/** The text with its `%XX` decoded, or `undefined` if they are not UTF-8 or no escapes. */
export function tryDecode(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}
