import { nearest } from "../command-line/nearest.ts";
import type { Explanation } from "./explanation.ts";

/**
 * Finds what a word, code or path may mean. Case does not matter. A condition is found with or without its prefix. A field is found by its path
 * with or without indexes, by the end of its path, such as `livenessProbe`, and by a field inside it.
 *
 * @returns several if a word has several meanings; none if nothing is known of it
 */
export function findExplanations(written: string, all: readonly Explanation[]): readonly Explanation[] {
  const wanted = written.trim().toLowerCase();
  const byName = all.filter(({ kind, name }) => kind !== "field" && writtenNames(kind, name).some((each) => matchesName(wanted, each)));
  const exact = byName.filter(({ name }) => name.toLowerCase() === wanted);
  if (exact.length > 0) return exact;
  return byName.length > 0 ? byName : findFields(written.trim(), all);
}

/** The most similar name; `undefined` if none is similar. A path is compared with the fields beside it. */
export function nearestName(written: string, all: readonly Explanation[]): string | undefined {
  const fields = all.filter(({ kind }) => kind === "field").map(({ name }) => name);
  const word = withoutPrefix(written);
  const { parent, last } = splitPath(word.replaceAll(/\[\d*\]/g, "[*]"));
  if (parent !== "") {
    const beside = fields.filter((name) => plain(splitPath(name).parent) === plain(parent));
    const similar = nearest(
      last,
      beside.map((name) => splitPath(name).last),
    );
    return similar === undefined ? undefined : `${parent}.${similar}`;
  }
  return nearest(word, [
    ...all.map(({ kind, name }) => (kind === "condition" ? withoutPrefix(name) : name)),
    ...fields.map((name) => splitPath(name).last),
  ]);
}

function splitPath(path: string): { readonly parent: string; readonly last: string } {
  const at = path.lastIndexOf(".");
  return { parent: path.slice(0, Math.max(at, 0)), last: path.slice(at + 1) };
}

/** The name in lower case; of a condition also without its prefix, such as `virtual-kubelet.io/`. */
function writtenNames(kind: Explanation["kind"], name: string): readonly string[] {
  const lower = name.toLowerCase();
  return kind === "condition" ? [lower, withoutPrefix(lower)] : [lower];
}

function withoutPrefix(type: string): string {
  return type.slice(type.indexOf("/") + 1);
}

function matchesName(wanted: string, name: string): boolean {
  return name.endsWith("*") ? wanted.startsWith(name.slice(0, -1)) && wanted.length >= name.length : wanted === name;
}

/** Fields of a path: the fields themselves, else those whose path ends so, else the longest one that contains the path. */
function findFields(written: string, all: readonly Explanation[]): readonly Explanation[] {
  const fields = all.filter(({ kind }) => kind === "field");
  const wanted = generalPath(written);
  const same = fields.filter(({ name }) => plain(name) === wanted);
  if (same.length > 0) return same;
  const ending = firstOfEachList(fields.filter(({ name }) => plain(name).endsWith(`.${wanted}`)));
  if (ending.length > 0) return ending;
  // A second container is refused as such, which says nothing about the fields of a container.
  const containing = fields.filter(({ name }) => name !== "spec.containers[*]");
  const around = containing.filter(({ name }) => wanted.startsWith(`${plain(name)}.`) || wanted.includes(`.${afterLists(name)}.`));
  const longest = Math.max(...around.map(({ name }) => afterLists(name).length));
  return firstOfEachList(around.filter(({ name }) => afterLists(name).length === longest));
}

/** Fields of init and ephemeral containers are left out if containers have the same field. */
export function firstOfEachList(fields: readonly Explanation[]): readonly Explanation[] {
  const names = new Set(fields.map(({ name }) => name));
  return fields.filter(({ name }) => {
    const ofContainers = name.replace(/^spec\.(initContainers|ephemeralContainers)(?=\[\*\]\.)/, "spec.containers");
    return ofContainers === name || !names.has(ofContainers);
  });
}

function generalPath(written: string): string {
  return plain(written.replaceAll(/\[\d*\]/g, "[*]"));
}

/** Without marks of lists, so that `spec.containers.env` is found too. */
function plain(path: string): string {
  return path.replaceAll("[*]", "").toLowerCase();
}

/** The part of a path behind `spec` and the list of containers. */
function afterLists(path: string): string {
  return plain(path).replace(/^spec\.((init|ephemeral)?containers\.)?/, "");
}
