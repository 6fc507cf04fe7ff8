import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";

/** A request and the real API server's response. */
export interface RecordedStep {
  readonly method: "POST" | "PATCH";
  readonly path: string;
  /** Default: `application/json`. */
  readonly type?: string;
  readonly body: unknown;
  readonly answer: Answer;
}

/** A response without the parts that differ between runs. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** Series of requests to a new server; the key is their subject. */
export type Recording = Readonly<Record<string, readonly RecordedStep[]>>;

const folder = new URL("./fixtures/", import.meta.url);

/** Reads all recordings, by file name. */
export async function readRecordings(): Promise<Map<string, Recording>> {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".json")).toSorted();
  const entries = files.map(async (file): Promise<[string, Recording]> => [
    file.replace(".json", ""),
    JSON.parse(await readFile(new URL(file, folder), "utf8")) as Recording,
  ]);
  return new Map(await Promise.all(entries));
}

/** Writes a recording with one request per line. */
export async function writeRecording(name: string, recording: Recording): Promise<void> {
  await mkdir(folder, { recursive: true });
  const cases = Object.entries(recording).map(
    ([title, steps]) => `${JSON.stringify(title)}: [\n${steps.map((step) => JSON.stringify(step)).join(",\n")}\n]`,
  );
  await writeFile(new URL(`${name}.json`, folder), `{\n${cases.join(",\n")}\n}\n`);
}

const absent = new Set(["uid", "resourceVersion", "managedFields"]);
const times = new Set(["creationTimestamp", "lastTransitionTime", "deletionTimestamp"]);

/** Replaces values that differ between runs (times, random names, allocated addresses) and sorts unordered lists. */
export function comparable(status: number, body: unknown): Answer {
  return { status, body: sorted(inCanonicalOrder(simplified("", body))) };
}

function simplified(key: string, value: unknown): unknown {
  if (times.has(key) && value) return "TIME";
  if ((key === "nodePort" || key === "healthCheckNodePort") && Number(value) > 30_001) return "PORT";
  if (Array.isArray(value)) return value.map((item) => simplified("", item));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).flatMap(([name, item]) => (absent.has(name) ? [] : [[name, simplified(name, item)]])));
  return typeof value === "string" ? simplifiedText(value) : value;
}

function simplifiedText(text: string): string {
  return text
    .replace(/kube-api-access-[a-z0-9]{5}/, "kube-api-access-RANDOM")
    .replace(/^generated-[a-z0-9]{5}$/, "generated-RANDOM")
    .replace(/^10\.(9[6-9]|1[01]\d)\.\d+\.\d+$/, (address) => (address.startsWith("10.96.3.") ? address : "ADDRESS"))
    .replace(/(pod updates may not change fields other than [^\n]*)\n[^]*$/, "$1\nDIFFERENCE");
}

/** A cause in the details of a Status. */
interface Cause {
  readonly field?: string;
  readonly message?: string;
}

/** The real server iterates over maps in random order and repeats some checks, so its errors are sorted and deduplicated. */
function inCanonicalOrder(body: unknown): unknown {
  const { kind, details, ...rest } = (body ?? {}) as { kind?: string; details?: { causes?: Cause[] } };
  if (kind !== "Status" || details?.causes === undefined) return body;
  const byText = new Map(details.causes.map((cause) => [`${cause.field}\n${cause.message}`, cause]));
  const causes = [...byText].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, cause]) => cause);
  return { ...rest, kind, details: { ...details, causes }, ...(causes.length > 1 ? { message: "ALL CAUSES" } : {}) };
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}
