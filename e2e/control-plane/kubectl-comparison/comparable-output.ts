import type { StepOutput } from "./run-steps.ts";

/** Replacements of what differs between two runs on one server, in this order. */
const replacements: readonly (readonly [pattern: RegExp, by: string])[] = [
  [/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, "<uid>"],
  // Times of the steps' own objects are compared.
  [/(?!2024-01-01)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, "<time>"],
  [/(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} (?!2024)\d{4} \d\d:\d\d:\d\d \+0000/g, "<time>"],
  [/(Created on: +)[\d-]+ [\d:]+ \+0000 UTC/g, "$1<time>"],
  [/(resourceVersion\\?"?: ?\\?"?)\d+/g, "$1<version>"],
  [/(Resource Version: +)\d+/g, "$1<version>"],
  [/\b10\.(?:9[6-9]|1[01]\d)\.\d+\.\d+/g, "<cluster IP>"],
  [/(127\.0\.0\.1|localhost):\d+/g, "$1:<port>"],
  [/(X509SHA256=)[\da-f]+/g, "$1<hash>"],
  [/(targetPort: )[1-6]\d{4}/g, "$1<port>"],
  [/(nodePort"?: ?)3\d{4}/g, "$1<port>"],
  [/(NodePort: +\S+ +)3\d{4}/g, "$1<port>"],
  // Ages, also of events that were counted.
  [/(?<=^|\s)(?:\d+[smh]|\d+m\d+s)(?: \(x\d+ over \w+\))?(?=\s|$)/gm, "<age>"],
  [/"?(?:pod-template-hash|controller-revision-hash)"?[=:] ?"?[\w-]+"?/g, "<hash>"],
  [
    /\b((?:web|made|applied|roll|agent|db|set|work|generated|front|headless)-)(?:[a-z0-9]{6,10}-[a-z0-9]{5}|[a-z0-9]{5,10})\b/g,
    "$1<suffix>",
  ],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, "<token>"],
  [/kube-api-access-[a-z0-9]{5}/g, "kube-api-access-<suffix>"],
  [/(LIVE|MERGED)-\d+(\S+\t\d{4}-\S+ \S+ \+0000)?/g, "$1"],
  [/kubectl\S*-edit-\w+/g, "<edited file>"],
  // The real server looks for a new service's address in a cache that may not have it yet, and then records this event.
  [/^.*\sClusterIPNotAllocated\s.*\n/gm, ""],
  [/(Events:) *\n +Type +Reason .*\n +---- .*\n(?! )/g, "$1  <none>\n"],
  // What `rollout status` sees until the end depends on the moment.
  [/^Waiting for .*\n/gm, ""],
  [/^(?:I|W|E)\d{4} [\d:.]+ +\d+ /gm, "<log> "],
];

/** Output without uids, times, ages, versions, generated names, addresses, ports and the widths of columns. */
export function comparableOutput({ code, stdout, stderr }: StepOutput, folder: string): StepOutput {
  return { code, stdout: comparableText(stdout, folder), stderr: comparableText(stderr, folder) };
}

function comparableText(text: string, folder: string): string {
  const replaced = replacements.reduce((found, [pattern, by]) => found.replace(pattern, by), text.replaceAll(folder, "<folder>"));
  // The width of a column depends on its values.
  const narrow = replaced.replace(/(?<=\S) {2,}/g, "  ").replace(/ +$/gm, "");
  return narrow
    .replace(/(?:^(?:pod\/\S+ evicted|evicting pod .*)\n)+/gm, sortedLines)
    .replace(/(?<=managedFields\\*":\[)[^\]]+/g, sortedManagers);
}

/** Managers whose times are in the same second are in the order of their names, and others in that of their times. */
function sortedManagers(entries: string): string {
  return entries
    .split(/,(?=\{\\*"manager)/)
    .toSorted()
    .join(",");
}

/** Pods of a node are evicted at the same time. */
function sortedLines(text: string): string {
  return text.split("\n").toSorted().join("\n");
}
