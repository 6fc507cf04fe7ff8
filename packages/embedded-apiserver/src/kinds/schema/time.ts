import { rfc3339 } from "@virtual-kubelet/kubernetes";

/** Time as the server writes it, or the error of Go's parser. */
export type CanonicalTime = { readonly text: string } | { readonly problem: string };

const rfc3339Pattern = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** Parses a `metav1.Time` and converts it to UTC in whole seconds. */
export function canonicalTime(text: string): CanonicalTime {
  const epochMs = rfc3339Pattern.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(epochMs)) return { problem: parseProblem(text, "2006-01-02T15:04:05Z07:00", "2006") };
  // JavaScript takes the 31st day of every month.
  if (isAfterMonth(text)) return { problem: `parsing time ${JSON.stringify(text)}: day out of range` };
  return { text: rfc3339(epochMs) };
}

function isAfterMonth(text: string): boolean {
  const day = Number(text.slice(8, 10));
  return day > 28 && day > new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate();
}

/** Parses a `metav1.MicroTime`, which has exactly six fractional digits. */
export function canonicalMicroTime(text: string): CanonicalTime {
  const layout = "2006-01-02T15:04:05.000000Z07:00";
  const match = rfc3339Pattern.exec(text);
  if (match === null) return { problem: parseProblem(text, layout, "2006") };
  const [, date, time, fraction = "", zone] = match;
  if (fraction.length !== 7) {
    const rest = fraction === "" ? zone : `${fraction}${zone}`;
    return {
      problem: `parsing time ${JSON.stringify(text)} as ${JSON.stringify(layout)}: cannot parse ${JSON.stringify(rest)} as ".000000"`,
    };
  }
  const epochMs = Date.parse(`${date}T${time}${zone}`);
  if (Number.isNaN(epochMs)) return { problem: parseProblem(text, layout, "2006") };
  return { text: `${new Date(epochMs).toISOString().slice(0, 19)}${fraction}Z` };
}

function parseProblem(text: string, layout: string, element: string): string {
  const quoted = JSON.stringify(text);
  return `parsing time ${quoted} as ${JSON.stringify(layout)}: cannot parse ${quoted} as ${JSON.stringify(element)}`;
}
