import { Refusal } from "./refusal.ts";

/** The parsed URL of a request. */
export interface RequestTarget {
  /** As received, without the query. */
  readonly path: string;
  /** Segments of the path, decoded. A trailing slash adds none; two slashes in a row add an empty one. */
  readonly segments: readonly string[];
  /** Text after the question mark, not decoded. */
  readonly query: string;
}

/** Maximum length of a URL in bytes. URLs with a command are limited only by the size of the headers. */
const maxUrlBytes = 16 * 1024;

/** First path segments whose query carries a command. */
const commandRoots: ReadonlySet<string | undefined> = new Set(["exec", "run"]);

/** Characters that no segment may contain: control characters and path separators. */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const forbidden = /[\u0000-\u001f\u007f/\\]/;

/** Parses the URL of a request. @throws Refusal 414 if the URL is too long, 400 if it is malformed or contains `.` or `..` */
export function parseRequestTarget(url: string): RequestTarget {
  const [path = "", ...rest] = withoutOrigin(url).split("?");
  if (!path.startsWith("/")) throw new Refusal(400, "400: Bad Request: the URL has no path");
  const segments = path.slice(1).split("/");
  const root = segments[0] === "nodes" ? segments[2] : segments[0];
  if (url.length > maxUrlBytes && !commandRoots.has(root))
    throw new Refusal(414, `414: URI Too Long: ${url.length} bytes, at most ${maxUrlBytes}`);
  if (segments.at(-1) === "") segments.pop();
  return { path, segments: segments.map(decodeSegment), query: rest.join("?") };
}

/** Removes the origin: a proxy may send `http://host/path`. */
function withoutOrigin(url: string): string {
  return url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?]*/i, "");
}

function decodeSegment(segment: string): string {
  const decoded = segment.includes("%") ? tryDecode(segment) : segment;
  if (decoded === undefined) throw new Refusal(400, "400: Bad Request: the path has an invalid escape");
  if (decoded === "." || decoded === ".." || forbidden.test(decoded))
    throw new Refusal(400, "400: Bad Request: the path has an invalid segment");
  return decoded;
}

/** Decodes `%XX` escapes. @returns `undefined` if they are malformed or not UTF-8 */
export function tryDecode(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}
